import JSONText
import LiveActivityAPI
import Testing

/// Returns the message of the decoding error for a JSON text, or `nil` if the text fits.
func refusal<Decoded: Decodable>(of text: String, as type: Decoded.Type) throws -> String? {
    let value = try JSONValue(parsing: text)
    do throws(JSONDecodingError) {
        _ = try value.decode(type)
        return nil
    } catch {
        return error.description
    }
}

/// Returns a JSON text without its white space.
func compact(_ text: String) throws -> String {
    try JSONValue(parsing: text).text
}

/// Returns the JSON of a value that was decoded from a JSON text.
func rewritten<Coded: Codable>(_ text: String, as type: Coded.Type) throws -> String {
    try JSONValue(encoding: try JSONValue(parsing: text).decode(type)).text
}

@Suite struct InstantTests {
    @Test(arguments: [
        (#""1970-01-01T00:00:00Z""#, 0, "1970-01-01T00:00:00Z"),
        (#""2026-03-01T12:00:00Z""#, 1_772_366_400_000, "2026-03-01T12:00:00Z"),
        (#""2026-03-01t13:30:00.5+01:30""#, 1_772_366_400_500, "2026-03-01T12:00:00.500Z"),
        (#""2026-03-01 12:00:00.1239z""#, 1_772_366_400_123, "2026-03-01T12:00:00.123Z"),
        (#""2026-02-28T23:00:00-13:00""#, 1_772_366_400_000, "2026-03-01T12:00:00Z"),
        (#""2000-02-29T00:00:00.000Z""#, 951_782_400_000, "2000-02-29T00:00:00Z"),
        (#""2016-12-31T23:59:60Z""#, 1_483_228_800_000, "2017-01-01T00:00:00Z"),
        (#""9999-12-31T23:59:59.999Z""#, 253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ("0", 0, "1970-01-01T00:00:00Z"), ("1772366400", 1_772_366_400_000, "2026-03-01T12:00:00Z"),
        ("1772366400.007", 1_772_366_400_007, "2026-03-01T12:00:00.007Z"),
        ("1.7723664e9", 1_772_366_400_000, "2026-03-01T12:00:00Z"),
    ])
    func `a moment is read and written in UTC`(text: String, milliseconds: Int, written: String) throws {
        let instant = try JSONValue(parsing: text).decode(Instant.self)
        #expect(instant.milliseconds == milliseconds)
        #expect(instant.description == written)
        #expect(try JSONValue(encoding: instant) == .string(written))
        #expect(Instant(written) == instant)
    }

    @Test(arguments: [
        #""2026-03-01T12:00:00""#, #""2026-03-01""#, #""2026-02-29T00:00:00Z""#, #""2100-02-29T00:00:00Z""#,
        #""2026-13-01T00:00:00Z""#, #""2026-00-01T00:00:00Z""#, #""2026-04-31T00:00:00Z""#, #""2026-03-01T24:00:00Z""#,
        #""2026-03-01T12:60:00Z""#, #""2026-03-01T12:00:60Z""#, #""2026-03-01T12:00:00.Z""#,
        #""2026-03-01T12:00:00+0100""#,
        #""2026-03-01T12:00:00+24:00""#, #""2026-03-01T12:00:00Z ""#, #""1969-12-31T23:59:59Z""#,
        #""9999-12-31T23:59:59-01:00""#,
        #""""#, #""soon""#,
    ])
    func `a text that names no moment is refused`(text: String) throws {
        let message = "expected an RFC 3339 time with a zone or seconds since 1970, given \(text)"
        #expect(try refusal(of: text, as: Instant.self) == message)
    }

    @Test(arguments: ["-1", "1772366400000", "253402300800", "1e400"])
    func `a number out of range hints at milliseconds`(text: String) throws {
        let expected = "an RFC 3339 time with a zone or seconds since 1970 (not milliseconds), through the year 9999"
        #expect(try refusal(of: text, as: Instant.self) == "expected \(expected), given \(text)")
    }

    @Test func `every day of four centuries survives a round trip`() throws {
        var before: Instant?
        for day in stride(from: 0, to: 146_097 * 2, by: 1) {
            let instant = try #require(Instant(milliseconds: day * 86_400_000))
            try #require(Instant(instant.description) == instant)
            if let before { try #require(before < instant) }
            before = instant
        }
        #expect(before?.description == "2769-12-31T00:00:00Z")
    }
}

@Suite struct DurationTests {
    @Test(arguments: [
        (#""0s""#, 0, #""0s""#), (#""90s""#, 90_000, #""90s""#), (#""5m""#, 300_000, #""300s""#),
        (#""1h""#, 3_600_000, #""3600s""#),
        (#""2d""#, 172_800_000, #""172800s""#), (#""30d""#, 2_592_000_000, #""2592000s""#), ("90", 90_000, #""90s""#),
        ("0.25", 250, "0.25"), ("1e2", 100_000, #""100s""#), ("2592000", 2_592_000_000, #""2592000s""#),
    ])
    func `a duration is read with a unit or as seconds`(text: String, milliseconds: Int, written: String) throws {
        let duration = try JSONValue(parsing: text).decode(APIDuration.self)
        #expect(duration.milliseconds == milliseconds)
        #expect(duration.duration == .milliseconds(milliseconds))
        #expect(try JSONValue(encoding: duration).text == written)
        #expect(try JSONValue(parsing: written).decode(APIDuration.self) == duration)
    }

    @Test(arguments: [
        #""""#, #""s""#, #""90""#, #""-1s""#, #""1.5h""#, #""1h30m""#, #""90 s""#, #""5M""#, #""31d""#, #""721h""#,
        #""99999999999999999999s""#, "-1", "-0.0001", "2592000.001", "1e400", "true", "[]",
    ])
    func `what is no duration is refused`(text: String) throws {
        let expected = "a duration such as `90s`, `5m`, `1h`, `2d` or a number of seconds, at most 30 days"
        let given = text == "[]" ? "array" : text
        #expect(try refusal(of: text, as: APIDuration.self) == "expected \(expected), given \(given)")
    }
}

@Suite struct TextTests {
    @Test(arguments: [#""Hello""#, #"{"locKey":"K","locArgs":["a","b"]}"#, #"{"locKey":"K","locArgs":[]}"#])
    func `words of an alert survive a round trip`(text: String) throws {
        #expect(try rewritten(text, as: AlertText.self) == text)
    }

    @Test(arguments: [
        ("5", "expected a string or {locKey, locArgs}, given 5"), ("{}", "/locKey: missing, expected string"),
        (#"{"locKey":"K","args":[]}"#, "/args: unknown field; known fields: `locKey`, `locArgs`"),
        (#"{"locKey":"K","locArgs":[1]}"#, "/locArgs/0: expected string, given 1"),
    ])
    func `what is no words of an alert is refused`(text: String, message: String) throws {
        #expect(try refusal(of: text, as: AlertText.self) == message)
    }

    @Test(arguments: [#""lastActive""#, #""all""#, #"["a","b"]"#, "[]"])
    func `a selection of devices survives a round trip`(text: String) throws {
        #expect(try rewritten(text, as: DeviceSelection.self) == text)
    }

    @Test(arguments: [
        (#""some""#, #"expected `lastActive`, `all` or an array of device ids, given "some""#),
        ("{}", "expected `lastActive`, `all` or an array of device ids, given object"),
        (#"["a",1]"#, "/1: expected string, given 1"),
    ])
    func `what is no selection of devices is refused`(text: String, message: String) throws {
        #expect(try refusal(of: text, as: DeviceSelection.self) == message)
    }

    @Test func `a token is hexadecimal, in lower case and never printed`() throws {
        let hex = String(repeating: "aB3F", count: 16)
        let token = try JSONValue.string(hex).decode(TokenText.self)
        #expect(token.text == hex.lowercased())
        #expect("\(token)" == "ab3fab3f…")
        let request = PushToStartTokenRequest(token: token)
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request)\(dumped)".contains("ab3fab3fa"))
        #expect(try JSONValue(encoding: request) == ["token": .string(token.text)])
        #expect(TokenText(String(repeating: "a", count: 32)) != nil)
        #expect(TokenText(String(repeating: "a", count: 512)) != nil)
        for bad in [30, 33, 514] { #expect(TokenText(String(repeating: "a", count: bad)) == nil) }
        #expect(TokenText(String(repeating: "g", count: 64)) == nil)
        #expect(TokenText(String(repeating: "é", count: 32)) == nil)
    }
}

@Suite struct GroupedNumberTests {
    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (-12_345, "-12,345"), (-100, "-100"), (1_040_000, "1,040,000"),
        (.min, "-9,223,372,036,854,775,808"),
    ])
    func `large numbers have commas`(number: Int, text: String) { #expect(number.grouped == text) }
}
