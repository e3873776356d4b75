import Foundation
import JSONText

extension Subject {
    private static func texts(in value: JSONValue) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(texts)
        case .object(let object): object.flatMap { texts(in: $0.value) }
        case .null, .bool, .number: []
        }
    }

    /// Foundation reads padding in the middle as digits, and accepts more padding than is possible.
    private static func isOddBase64(_ text: String) -> Bool {
        !text.count.isMultiple(of: 4) || !["", "=", "=="].contains(text.drop { $0 != "=" })
    }

    /// Foundation reads a space and a sign as hexadecimal digits, and stops at the first NUL.
    static func isOddID(_ value: JSONValue) -> Bool {
        texts(in: value).contains { text in
            UUID(uuidString: text).map { $0.uuidString != text.uppercased() } ?? false
        }
    }

    static let special = [
        Subject(
            Bytes.self,
            """
            {"type": "object", "required": ["data"], "properties": {
             "data": {"type": "string", "x-swift": "Data", "contentEncoding": "base64"},
             "more": {"type": ["array", "null"], "items": {"x-swift": "Data"}}}}
            """,
            #"{"data": "aGk=", "more": ["", "Zg==", "/+8="]}"#, #"{"data": "Zm9v"}"#,
            besides: { value in
                let all = [value.object?["data"]].compactMap { $0 } + (value.object?["more"]?.array ?? [])
                return all.compactMap(\.string).contains(where: isOddBase64)
            }),
        Subject(
            IDs.self,
            """
            {"type": "object", "required": ["id"], "properties": {
             "id": {"type": "string", "x-swift": "UUID", "format": "uuid"},
             "others": {"type": ["array", "null"], "items": {"type": "string", "x-swift": "UUID"}}}}
            """,
            #"{"id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "others": ["6BA7B810-9DAD-11D1-80B4-00C04FD430C8"]}"#,
            #"{"id": "00000000-0000-0000-0000-000000000000", "others": null}"#,
            besides: isOddID),
        Subject(
            Links.self,
            """
            {"type": "object", "required": ["site"], "properties": {
             "site": {"type": "string", "x-swift": "URL"},
             "more": {"type": ["array", "null"], "items": {"type": "string", "x-swift": "URL"}}}}
            """,
            #"{"site": "https://example.com:8080/a/b?c=d&e=%20#f", "#
                + #""more": ["mailto:a@b.c", "//h/p", "x", "http://[::1]/"]}"#,
            #"{"site": "islet://order/5?x"}"#,
            // Systems before iOS 17 refuse such a URL. Newer ones escape invalid characters and accept it.
            besides: { value in
                let links = [value.object?["site"]].compactMap { $0 } + (value.object?["more"]?.array ?? [])
                return links.compactMap(\.string).contains {
                    URL(string: $0, encodingInvalidCharacters: false) == nil
                }
            }),
        Subject(
            Dates.self, hasDates: true,
            """
            {"type": "object", "required": ["at", "all"], "properties": {
             "at": {"type": "number", "x-swift": {"type": "Date", "input": "swift"}},
             "until": {"type": ["number", "null"], "x-swift": {"type": "Date", "input": "swift"}},
             "all": {"type": "array", "items": {"x-swift": {"type": "Date", "input": "swift"}}}}}
            """,
            #"{"at": 785393100.25, "until": null, "all": [0, -1.5, "2026-03-01T12:00:00Z"]}"#,
            #"{"at": "2026-03-01T12:00:00.125+02:00", "all": []}"#),
        Subject(
            Money.self,
            """
            {"type": "object", "required": ["price", "prices"], "properties": {
             "price": {"type": "number", "x-swift": "Decimal"},
             "prices": {"type": "array", "items": {"x-swift": "Decimal"}}}}
            """,
            #"{"price": 9.90, "prices": [1, 0.01, -3e2]}"#),
        Subject(
            Widths.self,
            """
            {"type": "object", "required": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], "properties": {
             "a": {"type": "integer", "x-swift": "Int8"}, "b": {"type": "integer", "x-swift": "Int16"},
             "c": {"type": "integer", "x-swift": "Int32"}, "d": {"type": "integer", "x-swift": "Int64"},
             "e": {"type": "integer", "x-swift": "UInt8"}, "f": {"type": "integer", "x-swift": "UInt16"},
             "g": {"type": "integer", "x-swift": "UInt32"}, "h": {"type": "integer", "x-swift": "UInt64"},
             "i": {"type": "integer", "x-swift": "UInt"}, "j": {"type": "integer", "x-swift": "Int"}}}
            """,
            #"{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1}"#),
        Subject(
            Floats.self,
            """
            {"type": "object", "required": ["single", "double", "interval", "point"], "properties": {
             "single": {"type": "number", "x-swift": "Float"}, "double": {"type": "number", "x-swift": "Double"},
             "interval": {"type": "number", "x-swift": "TimeInterval"},
             "point": {"type": "array", "minItems": 2,
              "prefixItems": [{"x-swift": "CGFloat"}, {"x-swift": "CGFloat"}]},
             "maybe": {"type": ["number", "null"], "x-swift": "Float"}}}
            """,
            #"{"single": 0.1, "double": 0.1, "interval": 90, "point": [1, 2.5], "maybe": null}"#),
        Subject(
            Waits.self,
            """
            {"type": "object", "required": ["wait"], "properties": {"wait": {"type": "array", "minItems": 2,
             "prefixItems": [{"x-swift": "Int64"}, {"x-swift": "UInt64"}]}}}
            """,
            #"{"wait": [0, 1000000000000000000]}"#, #"{"wait": [4, 16213023705161793536]}"#),
    ]

    static let systems = [
        Subject(
            OrderState.self,
            """
            {"type": "object", "required": ["status", "progress"], "properties": {
             "status": {"type": "string"}, "progress": {"type": "number", "x-swift": "Double"},
             "eta": {"type": ["integer", "null"], "x-swift": "Int"}, "courier": {"type": ["string", "null"]}}}
            """,
            #"{"status": "delivering", "progress": 0.8, "eta": 5, "courier": "Mia"}"#,
            #"{"status": "delivered", "progress": 1}"#),
        Subject(
            HeroState.self,
            """
            {"type": "object", "required": ["currentHealthLevel", "eventDescription"], "properties": {
             "currentHealthLevel": {"type": "number", "x-swift": "Double"}, "eventDescription": {"type": "string"}}}
            """,
            #"{"currentHealthLevel": 0.94, "eventDescription": "Power Panda has found a sword!"}"#),
        Subject(
            HeroAttributes.self,
            """
            {"type": "object", "required": ["hero"], "properties": {"hero": {"type": "object",
             "required": ["name", "avatar", "healthLevel", "heroType", "healthRecoveryRatePerHour", "level"],
             "properties": {"name": {"type": "string"}, "avatar": {"type": "string"},
              "healthLevel": {"type": "number", "x-swift": "Double"}, "heroType": {"type": "string"},
              "healthRecoveryRatePerHour": {"type": "number", "x-swift": "Double"},
              "level": {"type": "integer", "x-swift": "Int"}}}}}
            """,
            #"{"hero": {"name": "Power Panda", "avatar": "🐼", "healthLevel": 0.14, "heroType": "Forest Dweller", "#
                + #""healthRecoveryRatePerHour": 0.25, "level": 3}}"#),
        Subject(
            TimerState.self, hasDates: true,
            """
            {"type": "object", "required": ["phase", "startedAt", "duration"], "properties": {
             "phase": {"type": "string", "x-swift": "String", "enum": ["focus", "rest"]},
             "startedAt": {"type": "number", "x-swift": {"type": "Date", "input": "swift"}},
             "pausedAt": {"type": ["number", "null"], "x-swift": {"type": "Date", "input": "swift"}},
             "duration": {"type": "number", "x-swift": "TimeInterval"}}}
            """,
            #"{"phase": "focus", "startedAt": "2026-11-21T09:00:00Z", "pausedAt": null, "duration": 1500}"#,
            #"{"phase": "rest", "startedAt": 816944400, "pausedAt": 816944500.5, "duration": 300.5}"#),
        Subject(
            PagerState.self, hasDates: true,
            """
            {"type": "object", "properties": {
             "sender": {"type": "string"}, "message": {"type": "string"}, "isDemo": {"type": "boolean"},
             "messageIndex": {"type": "integer", "x-swift": "Int"},
             "totalMessages": {"type": "integer", "x-swift": "Int"},
             "timestamp": {"type": "number", "x-swift": {"type": "Date", "input": "swift"}}},
             "required": ["sender", "message", "isDemo", "messageIndex", "totalMessages", "timestamp"]}
            """,
            #"{"sender": "Ada", "message": "Come home", "isDemo": false, "messageIndex": 1, "totalMessages": 1, "#
                + #""timestamp": "2026-11-21T14:32:00.5Z"}"#),
        Subject(
            NextUpState.self, hasDates: true,
            """
            {"type": "object", "required": ["isLocked", "remaining"], "properties": {
             "task": {"anyOf": [{"$ref": "#/$defs/Task"}, {"type": "null"}]}, "isLocked": {"type": "boolean"},
             "remaining": {"type": "integer", "x-swift": "Int"}},
             "$defs": {"Task": {"type": "object", "required": ["id", "title"], "properties": {
              "id": {"type": "string", "x-swift": "UUID"}, "title": {"type": "string"},
              "dueAt": {"type": ["number", "null"], "x-swift": {"type": "Date", "input": "swift"}}}}}}
            """,
            #"{"task": {"id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "title": "Run", "dueAt": 816944400}, "#
                + #""isLocked": true, "remaining": 2}"#,
            #"{"isLocked": false, "remaining": 0}"#, besides: isOddID),
    ]
}
