import Testing

@testable import PeerIdentity

/// Names that a certificate is valid for, and the form of a host.
struct ServerNameCheckTests {
    static let names: [(String, String, Bool)] = [
        ("api.push.apple.com", "api.push.apple.com", true), ("API.Push.Apple.com.", "api.push.apple.com", true),
        ("*.push.apple.com", "api.push.apple.com", true), ("*.apple.com", "api.push.apple.com", false),
        ("*.com", "apple.com", false), ("*", "localhost", false), ("localhost", "localhost", true),
        ("a*.push.apple.com", "api.push.apple.com", false), ("push.apple.com", "api.push.apple.com", false),
        ("", "", false), ("api.push.apple.com.evil.example", "api.push.apple.com", false),
    ]

    @Test(arguments: names) func `a certificate's name matches as a whole, with a star for the first label alone`(
        pattern: String, name: String, isMatch: Bool
    ) {
        #expect(ServerNameCheck.matches(pattern, name) == isMatch)
    }

    @Test(arguments: [
        ("127.0.0.1", PeerHost.address([127, 0, 0, 1])), ("localhost", .name("localhost")),
        ("::1", .address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])), ("127.1", .name("127.1")),
        ("1.2.3.4.example.com", .name("1.2.3.4.example.com")), ("", .name("")),
    ])
    func `a host is an address only where all of it is one`(text: String, host: PeerHost) {
        #expect(PeerHost(text) == host)
    }
}
