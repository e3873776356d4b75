import Foundation

/// The app's own backend. Here there is none.
enum Backend {
    /// The address of Islet, or of the app's backend if it forwards the phone's calls.
    static let push = URL(string: "https://push.example.com") ?? URL(fileURLWithPath: "/")

    /// The signed-in person, if the app knows. `nil` says nothing, because the session may be unreadable before the
    /// first unlock.
    static let user: String? = "ada"

    /// Requests the credential for the phone's calls, with the person's session.
    static func pushCredential() async throws -> String { throw URLError(.userAuthenticationRequired) }
}
