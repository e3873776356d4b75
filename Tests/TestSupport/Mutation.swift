package import JSONText

/// Turns JSON that fits into JSON that nearly fits.
package struct Mutation {
    package var dice: SeededDice

    package init(seed: UInt64) { dice = SeededDice(seed: seed) }

    /// Returns the value with zero to three changes.
    package mutating func mutated(_ value: JSONValue) -> JSONValue {
        (0..<dice.roll(4)).reduce(value) { value, _ in mutatedOnce(value) }
    }

    private mutating func mutatedOnce(_ value: JSONValue) -> JSONValue {
        // Deeper values are changed more often.
        switch value {
        case .object(let object) where !object.isEmpty && dice.chance(85): return mutated(object)
        case .array(let elements) where !elements.isEmpty && dice.chance(80): return mutated(elements)
        case .null, .bool, .number, .string, .array, .object: return mutatedHere(value)
        }
    }

    private mutating func mutated(_ object: JSONObject) -> JSONValue {
        var object = object
        let key = dice.pick(object.keys)
        switch dice.roll(12) {
        case 0: object[key] = nil
        case 1: object[dice.pick(Self.keys)] = anything()
        case 2:
            let value = object[key]
            object[key] = nil
            object[dice.pick([key.uppercased(), key + "_", "_" + key, "\(key)s"])] = value
        case 3: object[key] = .null
        default: object[key] = object[key].map { mutatedOnce($0) }
        }
        return .object(object)
    }

    private mutating func mutated(_ elements: [JSONValue]) -> JSONValue {
        var elements = elements
        let index = dice.roll(elements.count)
        switch dice.roll(10) {
        case 0: elements.remove(at: index)
        case 1: elements.insert(elements[dice.roll(elements.count)], at: index)
        case 2: elements.append(anything())
        case 3: elements.reverse()
        default: elements[index] = mutatedOnce(elements[index])
        }
        return .array(elements)
    }

    private mutating func mutatedHere(_ value: JSONValue) -> JSONValue {
        switch (value, dice.roll(8)) {
        case (_, 0): return anything()
        case (_, 1): return .array([value])
        case (_, 2): return .object([dice.pick(Self.keys): value])
        case (.number(let number), 3): return .string(number.text)
        case (.number(let number), _): return .number(near(number))
        case (.string(let text), 3):
            return JSONNumber(text).map(JSONValue.number) ?? .string(text.uppercased())
        case (.string(let text), _): return .string(near(text))
        case (.bool(let value), 3...5): return .bool(!value)
        case (.bool(let value), 6): return .number(JSONNumber(value ? 1 : 0))
        case (.bool(let value), _): return .string("\(value)")
        default: return anything()
        }
    }

    private mutating func near(_ number: JSONNumber) -> JSONNumber {
        let text = number.text
        let other: String
        switch dice.roll(8) {
        case 0: other = text.contains(where: { ".eE".contains($0) }) ? text : text + ".0"
        case 1: other = text.contains(where: { ".eE".contains($0) }) ? text : text + ".5"
        case 2: other = text.contains(where: { "eE".contains($0) }) ? text : text + "e\(dice.roll(40) - 20)"
        case 3: other = text.hasPrefix("-") ? String(text.dropFirst()) : "-" + text
        case 4: other = text.contains(where: { ".eE".contains($0) }) ? text : text + String(dice.roll(1000))
        default: other = dice.pick(Self.numbers)
        }
        return JSONNumber(other) ?? number
    }

    private mutating func near(_ text: String) -> String {
        var characters = Array(text)
        guard !characters.isEmpty else { return dice.pick(Self.texts) }
        let index = dice.roll(characters.count)
        switch dice.roll(6) {
        case 0: characters.remove(at: index)
        case 1: characters.insert(dice.pick(Array(" =%/+-_:?#[]@é0aZ\u{1F355}")), at: index)
        case 2: characters[index] = dice.pick(Array("gG-:= 9"))
        case 3: return text.lowercased()
        default: return dice.pick(Self.texts)
        }
        return String(characters)
    }

    private mutating func anything() -> JSONValue {
        switch dice.roll(8) {
        case 0: .null
        case 1: .bool(dice.chance(50))
        case 2...3: JSONNumber(dice.pick(Self.numbers)).map(JSONValue.number) ?? .null
        case 4...5: .string(dice.pick(Self.texts))
        case 6: .array(dice.chance(50) ? [] : [1, "x"])
        default: .object(dice.chance(50) ? [:] : ["a": 1])
        }
    }

    private static let keys = ["a", "b", "x", "plain", "one", "two", "_0", "_1", "7", "-7", "007", "+7", "1.5", ""]

    private static let numbers = [
        "0", "1", "-1", "-0", "-0.0", "0.5", "1.0", "1e3", "1E2", "12.5", "1e-3", "127", "128", "-128", "-129", "255",
        "256", "255.0", "32767", "32768", "-32769", "65535", "65536", "2147483647", "2147483648", "-2147483649",
        "4294967295", "4294967296", "9007199254740991", "9007199254740993", "9007199254740993.0",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "18446744073709551615", "18446744073709551616", "18446744073709551615.0", "1e18", "1e19", "1.5e18", "1e20",
        "3.4028235e38", "3.5e38", "1e39", "1e308", "1.8e308", "1e309", "1e400", "-1e400", "1e-45", "1e-46", "5e-324",
        "1e-324", "1e-400", "0e-999", "0.1", "0.30000000000000004", "0.1000000000000000055", "1.0000000000000001",
        "1e127", "1e128", "1e-127", "1e-128", "1e-129", "123456789012345678901234567890123456789012345",
        "340282366920938463463374607431768211456", "3.141592653589793238462643383279502884197169399375", "785393100",
        "1763700300", "1763700300000", "785393100.123", "100", "20260301",
    ]

    private static let texts = [
        "", " ", "a", "x", "café", "cafe\u{301}", "0", "5", "12.5", "true", "null", "delivering", "Delivering", "open",
        "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.25+01:00", "2026-03-01", "2026-02-30T12:00:00Z", "aGk=", "aGk",
        "aGl=", "aG k", "Zg==", "Zh==", "_-8=", "/+8=", "====", "a===",
        "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "6ba7b8109dad11d180b400c04fd430c8", "https://a.b/c?d=e#f", "https://a b/", "a b", "http://[::1]/",
        "http://[::1", "//host:80/path", "mailto:a@b.c", "1a:b", "http://h:x/", "http://u:p@h:8080/%20?q=[1]", "%zz",
        "%41", "?", "#", ":", "a#b#c", "http://é.com/",
    ]
}
