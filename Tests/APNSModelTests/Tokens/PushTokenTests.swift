import APNSModel
import JSONText
import TestSupport
import Testing

struct PushTokenTests {
    static let good = [
        String(repeating: "a", count: 32), String(repeating: "0123456789abcdef", count: 4),
        String(repeating: "AB", count: 54), String(repeating: "cd", count: 80), String(repeating: "9", count: 512),
    ]

    @Test(arguments: good) func `a token is even-length hexadecimal of 32 to 512 characters`(text: String) throws {
        #expect(try UpdateToken(hex: text).hex == text.lowercased())
    }

    static let bad: [(String, PushTokenError.Code)] = [
        ("", .length(0)), (String(repeating: "a", count: 30), .length(30)),
        (String(repeating: "a", count: 514), .length(514)), (String(repeating: "a", count: 33), .oddLength(33)),
        (String(repeating: "a", count: 63) + "g", .notHexadecimal(offset: 63)),
        (" " + String(repeating: "a", count: 63), .notHexadecimal(offset: 0)),
        ("<" + String(repeating: "a", count: 62) + ">", .notHexadecimal(offset: 0)),
        (String(repeating: "a", count: 60) + "😀", .notHexadecimal(offset: 60)),
        (String(repeating: "a", count: 62) + "é", .notHexadecimal(offset: 62)),
    ]

    @Test(arguments: bad) func `what is no token is refused without showing it`(text: String, code: PushTokenError.Code)
    {
        let error = #expect(throws: PushTokenError.self) { try PushToStartToken(hex: text) }
        #expect(error?.code == code)
        #expect(error?.description.contains("push-to-start token") == true)
        #expect(text.count < 8 || error?.description.contains(text) == false)
    }

    @Test func `bytes and text give the same token`() throws {
        var dice = SeededDice(seed: 1)
        for _ in 0..<100 {
            let bytes = (0..<16 + dice.roll(240)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
            let token = try DeviceToken(bytes: bytes)
            #expect(try DeviceToken(hex: token.hex.uppercased()) == token)
            #expect(token.hex.count == bytes.count * 2)
        }
        #expect(throws: PushTokenError.self) { try DeviceToken(bytes: [UInt8](repeating: 1, count: 15)) }
    }

    @Test func `printing a token in any way shows eight characters at most`() throws {
        let token = Sample.token("secret", as: UpdateTokenKind.self)
        let request = PushRequest.update(
            try UpdatePayload(timestamp: Sample.now, contentState: .empty), to: token,
            .init(
                bundleID: Sample.bundleID, environment: .sandbox, priority: .low, expiration: .once,
                id: PushID(random: 1, 2)))
        var dumped = ""
        dump(token, to: &dumped)
        dump([Optional(token)], to: &dumped)
        dump(request, to: &dumped)
        dump(request.destination, to: &dumped)
        let printed = [
            token.description, token.debugDescription, String(describing: token), String(reflecting: token), "\(token)",
            "\([token])", "\(Optional(token) as Any)", "\(request)", String(reflecting: request),
            "\(request.destination)",
            String(reflecting: request.destination), dumped,
        ]
        for text in printed {
            #expect(!text.contains(token.hex.prefix(9)), "shows too much: \(text.count) characters")
        }
        #expect(token.masked == token.hex.prefix(8) + "…")
        // The payload is 123, 34, 97 …; its bytes are not printed either.
        #expect(!dumped.contains("123"))
    }
}
