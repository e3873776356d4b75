import Foundation

/// What the app knows of its own backend; here there is none.
enum Backend {
    /// Islet, or the app's backend where it passes the phone's calls on.
    static let push = URL(string: "https://push.example.com") ?? URL(fileURLWithPath: "/")

    /// Who is signed in, where the app knows; `nil` says nothing: before the first unlock the session is unreadable.
    static let user: String? = "ada"

    /// Asks, with the person's session, for what lets this phone speak to the server.
    static func pushCredential() async throws -> String { throw URLError(.userAuthenticationRequired) }
}
