import Crypto
import Foundation
import HTTPTypes
import JSONText
import LoopbackServer

/// An identity provider on loopback. It publishes its key set and signs its people's tokens.
struct IdentityProvider: Sendable {
    static let issuer = "https://id.example.com"
    static let audience = "pizza"
    private static let keyID = "k1"

    private let key: P256.Signing.PrivateKey
    /// The address of the key set.
    let url: String

    /// Runs an identity provider while the work runs.
    static func run(_ work: @escaping @Sendable (IdentityProvider) async throws -> Void) async throws {
        let published = P256.Signing.PrivateKey()
        let set = keySet(published.publicKey)
        try await withLoopbackServer({ $0.path == "/jwks.json" ? httpAnswer(.ok, set) : httpAnswer(.notFound) }) {
            address, _ in
            try await work(IdentityProvider(published, url: address + "/jwks.json"))
        }
    }

    private init(_ key: P256.Signing.PrivateKey, url: String) {
        self.key = key
        self.url = url
    }

    private static func keySet(_ key: P256.Signing.PublicKey) -> String {
        let raw = Array(key.rawRepresentation)
        return JSONValue.object([
            "keys": [
                [
                    "kty": "EC", "crv": "P-256", "kid": .string(keyID), "use": "sig", "x": .string(base64(raw[..<32])),
                    "y": .string(base64(raw[32...])),
                ]
            ]
        ]).text
    }

    /// Lines of an app's configuration that make the server trust this provider.
    var configuration: String {
        """
            people:
              issuers: ["\(Self.issuer)"]
              audience: \(Self.audience)
              jwks: {url: "\(url)", allowPrivate: true}

        """
    }

    /// Returns a person's token.
    ///
    /// - Parameters: - seconds: Seconds from now to its expiration. - forger: Another key to sign it with, under the id
    ///   of the published key.
    func token(
        _ user: String, endsIn seconds: Int = 3600, audience: String = audience, forger: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let end = Int(Date().timeIntervalSince1970) + seconds
        let header: JSONValue = ["alg": "ES256", "kid": .string(Self.keyID), "typ": "JWT"]
        let claims: JSONValue = [
            "iss": .string(Self.issuer), "aud": .string(audience), "sub": .string(user),
            "exp": .number(JSONNumber(end)),
        ]
        let signed = "\(Self.base64(header.bytes)).\(Self.base64(claims.bytes))"
        let signature = try (forger ?? key).signature(for: Array(signed.utf8))
        return "\(signed).\(Self.base64(signature.rawRepresentation))"
    }

    private static func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension String {
    /// Returns a configuration in which the first app has these lines too.
    func withPeople(_ lines: String) -> String {
        var text = self
        guard let app = text.firstRange(of: "bundleID:"),
            let end = text[app.upperBound...].firstIndex(of: "\n")
        else { return self }
        text.insert(contentsOf: lines, at: text.index(after: end))
        return text
    }
}
