internal import APNSModel
internal import Crypto
internal import Foundation
internal import JSONText

/// A provider token with a valid signature.
struct VerifiedToken: Sendable, Hashable {
    let keyID: String
    let teamID: String
    let issuedAt: UnixTime
    /// `true` if the claim was written as a string. APNs accepts that, but it deserves a warning.
    let issuedAtIsText: Bool
}

/// The knowledge of one connection about its sender.
///
/// Apple binds a connection to a team, and to a topic-specific key, at the first push. It also limits how often the
/// token changes (Apple, "Establishing a token-based connection to APNs").
struct ProviderSession: Sendable {
    private var current: (text: String, token: VerifiedToken, since: UnixTime)?
    /// The last verified token. It is kept because verifying a signature costs more than the rest of a push.
    private var verified: (text: String, token: VerifiedToken)?
    private var firstKey: ProviderKey?

    /// `true` after a valid token. Only then APNs allows more than one stream.
    var isAuthenticated: Bool { current != nil }

    private static let changeInterval = Duration.seconds(20 * 60)
    private static let lifetime = Duration.seconds(3600)
    private static let longestToken = 2048

    /// Checks the `authorization` header of one push.
    mutating func authorize(
        _ header: String?, keys: [String: ProviderKey], environment: APNSEnvironment, now: UnixTime
    ) throws(Refusal) -> (token: VerifiedToken, key: ProviderKey) {
        guard let header, !header.isEmpty else { throw Refusal(.missingProviderToken) }
        guard header.utf8.count <= Self.longestToken, header.prefix(7).lowercased() == "bearer " else {
            throw Refusal(.invalidProviderToken)
        }
        let text = String(header.dropFirst(7))
        let token: VerifiedToken
        if let verified, verified.text == text {
            token = verified.token
        } else {
            token = try Self.verify(text, keys: keys)
            verified = (text, token)
        }
        guard let key = keys[token.keyID], key.teamID == token.teamID else { throw Refusal(.invalidProviderToken) }
        guard token.issuedAt > now - Self.lifetime else { throw Refusal(.expiredProviderToken) }
        guard token.issuedAt <= now + Self.lifetime else { throw Refusal(.invalidProviderToken) }
        guard key.environments.contains(environment) else { throw Refusal(.badEnvironmentKeyIdInToken) }
        try bind(key)
        try adopt(text, token, now: now)
        if firstKey == nil { firstKey = key }
        return (token, key)
    }

    private func bind(_ key: ProviderKey) throws(Refusal) {
        guard let firstKey, firstKey.keyID != key.keyID else { return }
        guard firstKey.teamID == key.teamID else { throw Refusal(.forbidden) }
        // A team key may follow another one. A topic-specific key is related to at most one other.
        if firstKey.topics == nil, key.topics == nil { return }
        guard firstKey.relatedKeyID == key.keyID || key.relatedKeyID == firstKey.keyID else {
            throw Refusal(.unrelatedKeyIdInToken)
        }
    }

    private mutating func adopt(_ text: String, _ token: VerifiedToken, now: UnixTime) throws(Refusal) {
        guard let present = current else {
            current = (text, token, now)
            return
        }
        guard present.text != text else { return }
        guard now - present.since >= Self.changeInterval else { throw Refusal(.tooManyProviderTokenUpdates) }
        current = (text, token, now)
    }

    /// Parses a JWT and verifies its ES256 signature, r and s as 64 bytes (RFC 7518 section 3.4).
    static func verify(_ text: String, keys: [String: ProviderKey]) throws(Refusal) -> VerifiedToken {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
            let signatureBytes = base64URL(parts[2]), header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string, let teamID = claims["iss"]?.string,
            let key = keys[keyID], key.teamID == teamID,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signatureBytes),
            key.publicKey.isValidSignature(signature, for: Data((parts[0] + "." + parts[1]).utf8)),
            let issuedAt = claims["iat"]?.double ?? claims["iat"]?.string.flatMap(Double.init),
            (0...1e12).contains(issuedAt)
        else { throw Refusal(.invalidProviderToken) }
        return VerifiedToken(
            keyID: keyID, teamID: teamID, issuedAt: UnixTime(seconds: Int64(issuedAt)),
            issuedAtIsText: claims["iat"]?.string != nil)
    }

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = base64URL(part) else { return nil }
        return try? JSONValue(parsing: Array(bytes)).object
    }

    private static func base64URL(_ part: Substring) -> Data? {
        guard !part.contains("="), !part.contains("+"), !part.contains("/") else { return nil }
        var text = part.replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: String(text))
    }
}

/// A refusal of a push by APNs.
struct Refusal: Error, Sendable, Hashable {
    let status: Int
    let reason: APNSReason.Known
    /// Time at which Apple learned of the token's end, on 410.
    let timestamp: UnixTime?

    init(_ reason: APNSReason.Known, timestamp: UnixTime? = nil) {
        status = reason.status
        self.reason = reason
        self.timestamp = timestamp
    }
}
