import APNSModel
import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityStorage
import Testing

@testable import LiveActivityServer

/// The machine behind the sessions, and the origins that browsers send.
@Suite struct ConsoleSessionTests {
    private static func secret(_ seed: UInt64) -> CallerSecret {
        var dice = SplitMix64(seed: seed)
        return CallerSecret(using: &dice)
    }

    private static let start = MonotonicTime(nanoseconds: 0)

    @Test func `a session is found by its secret alone, until it ends`() {
        var sessions = ConsoleSessions()
        let session = sessions.begin(Self.secret(1), token: Self.secret(2), keyID: "key", at: Self.start)
        #expect(session.keyID == "key" && session.token == Self.secret(2).text)
        #expect(sessions.find(Self.secret(1), at: Self.start) == session)
        #expect(sessions.find(Self.secret(2), at: Self.start) == nil)
        // The stored form cannot be used to sign in.
        #expect(!"\(sessions)".contains(Self.secret(1).text))
        sessions.end(Self.secret(1))
        #expect(sessions.find(Self.secret(1), at: Self.start) == nil && sessions.count == 0)
    }

    @Test func `looking whether a session is open is no use of it`() {
        var sessions = ConsoleSessions()
        _ = sessions.begin(Self.secret(1), token: Self.secret(2), keyID: "key", at: Self.start)
        let almost = Self.start + (ConsoleSessions.idleLimit - .milliseconds(1))
        #expect(sessions.isOpen(Self.secret(1), at: almost) && !sessions.isOpen(Self.secret(2), at: almost))
        #expect(!sessions.isOpen(Self.secret(1), at: Self.start + ConsoleSessions.idleLimit))
    }

    @Test func `a session that is not used ends, and so does one that is used for long`() {
        var sessions = ConsoleSessions()
        _ = sessions.begin(Self.secret(1), token: Self.secret(2), keyID: "key", at: Self.start)
        var now = Self.start
        while now < Self.start + (ConsoleSessions.lifetime - .seconds(3600)) {
            now = now + .seconds(3600)
            #expect(sessions.find(Self.secret(1), at: now) != nil, "used every hour")
        }
        #expect(sessions.find(Self.secret(1), at: Self.start + ConsoleSessions.lifetime) == nil)
        _ = sessions.begin(Self.secret(3), token: Self.secret(4), keyID: "key", at: now)
        #expect(sessions.find(Self.secret(3), at: now + (ConsoleSessions.idleLimit - .milliseconds(1))) != nil)
        _ = sessions.begin(Self.secret(5), token: Self.secret(4), keyID: "key", at: now)
        #expect(sessions.find(Self.secret(5), at: now + ConsoleSessions.idleLimit) == nil)
    }

    @Test func `one more than there may be takes the place of the one that was unused the longest`() {
        var sessions = ConsoleSessions()
        for number in 0..<UInt64(ConsoleSessions.maximum) {
            _ = sessions.begin(
                Self.secret(number), token: Self.secret(number), keyID: "key",
                at: Self.start + .milliseconds(Int(number)))
        }
        let now = Self.start + .seconds(2)
        #expect(sessions.find(Self.secret(0), at: now) != nil)
        _ = sessions.begin(Self.secret(9999), token: Self.secret(1), keyID: "key", at: now)
        #expect(sessions.count == ConsoleSessions.maximum)
        #expect(sessions.find(Self.secret(1), at: now) == nil)
        #expect(sessions.find(Self.secret(0), at: now) != nil && sessions.find(Self.secret(9999), at: now) != nil)
    }

    // MARK: - Origins

    @Test(
        arguments: [
            ("same-origin", nil, true, true), ("none", nil, true, false), ("same-site", nil, false, false),
            ("cross-site", "http://console.acme.com", false, false), (nil, nil, true, false),
            (nil, "http://console.acme.com", true, true), (nil, "https://console.acme.com", true, true),
            (nil, "https://Console.Acme.com", true, true), (nil, "http://console.acme.com:8081", false, false),
            (nil, "http://evil.example", false, false), (nil, "null", false, false),
            (nil, "http://console.acme.com.evil.example", false, false),
        ] as [(String?, String?, Bool, Bool)])
    func `only our own pages read, and of writes it has to be said`(
        site: String?, origin: String?, reads: Bool, writes: Bool
    ) {
        let asked = ConsoleOrigin(authority: "console.acme.com", origin: origin, site: site)
        #expect(asked.isOwn(write: false) == reads)
        #expect(asked.isOwn(write: true) == writes)
    }

    @Test(arguments: [
        ("127.0.0.1:8080", true, "islet-console-8080"), ("127.8.0.1", true, "islet-console-1"),
        ("localhost:9", true, "islet-console-9"), ("islet.localhost", true, "islet-console-"),
        ("[::1]:8080", true, "islet-console-8080"), ("127.evil.example:80", false, "islet-console-80"),
        ("localhost.evil.example", false, "islet-console-"), ("[::2]:80", false, "islet-console-80"),
        ("10.0.0.1:80", false, "islet-console-80"), ("", false, "islet-console-"),
    ])
    func `what is the loopback, and what its cookie is called`(authority: String, isLoopback: Bool, cookie: String) {
        let origin = ConsoleOrigin(authority: authority)
        #expect(origin.isLoopback == isLoopback && origin.mayCarryKey == isLoopback)
        #expect(origin.cookieName == cookie && !origin.isSecure)
        let secure = ConsoleOrigin(authority: authority, origin: "https://\(authority)")
        #expect(secure.isSecure && secure.mayCarryKey && secure.cookieName == "__Host-islet-console")
    }

    @Test(arguments: [
        ("v1/phones", true), ("v1/phones/ada", true), ("v1/phones/ada/actions", true), ("v1/clock/advance", true),
        ("v1/simulator", true), ("v1/phones/ada/tokens", false), ("v1/keys", false), ("v1/pushes", false),
        ("v1/crowd", false), ("v1/faults", false), ("v1/phones/../keys", false), ("", false), ("v1", false),
        ("v1/changes", false), ("v1/simulator/x", false),
    ])
    func `of the simulator the console reaches phones and time, no token and no key`(path: String, isOpen: Bool) {
        #expect(SimulatorControl.mayAsk(path) == isOpen)
    }
}
