import APNSModel
import JSONText
import LiveActivityCore

/// The reason why a token is rejected, for the log. The caller learns only that the token is invalid or has expired.
package enum TokenRejection: String, Error, Sendable, CaseIterable {
    case malformed
    case tooLong = "too long"
    case critical = "its header has `crit`"
    case algorithm = "its algorithm is not allowed"
    case nobodys = "no app takes its issuer and audience"
    case unknownKey = "no key has its `kid`"
    case signature = "its signature is wrong"
    case claims = "a time in it is missing or no number"
    case expired
    case notYetValid = "it is not valid yet"
    case noUser = "the claim of the user is missing or no id"
    /// The caller is not at fault.
    case keysUnavailable = "the keys could not be fetched yet"
}

/// A signed token in compact form (RFC 7515 section 7.1), parsed but not verified.
struct PersonToken {
    /// Maximum size of a token in bytes. Those of identity providers have one or two thousand.
    static let maximumBytes = 8 * 1024
    private static let limits = JSONLimits(bytes: maximumBytes, depth: 16, members: 500)

    /// The algorithm that the header names. Compare it with the key's, but never choose by it.
    let algorithm: TokenAlgorithm
    let keyID: String?
    let claims: JSONObject
    let signature: [UInt8]
    /// The bytes that were signed.
    let signedBytes: [UInt8]

    init(_ text: String) throws(TokenRejection) {
        guard text.utf8.count <= Self.maximumBytes else { throw .tooLong }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]), !signature.isEmpty,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1])
        else { throw .malformed }
        // RFC 7515 section 4.1.11: a token whose header has `crit` must be rejected by a reader that does not
        // understand it.
        guard header["crit"] == nil else { throw .critical }
        guard let algorithm = header["alg"]?.string.flatMap(TokenAlgorithm.init) else { throw .algorithm }
        if let id = header["kid"] {
            guard let text = id.string, text.utf8.count <= 256 else { throw .malformed }
            keyID = text
        } else {
            keyID = nil
        }
        self.algorithm = algorithm
        self.claims = claims
        self.signature = signature
        signedBytes = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: Substring) -> JSONObject? {
        Base64URL.decode(part).flatMap { try? JSONValue(parsing: $0, limits: limits) }?.object
    }

    // MARK: - Claims (RFC 7519 section 4.1)

    var issuer: String? { claims["iss"]?.string }

    /// The audiences. `aud` is a string or an array of strings.
    var audiences: [String] {
        guard let value = claims["aud"] else { return [] }
        return value.string.map { [$0] } ?? value.array?.compactMap(\.string) ?? []
    }

    /// Rejects a token that has no expiration, has expired, or is not valid yet. Clocks may differ by the leeway.
    func checkTimes(at now: UnixTime, leeway: Duration) throws(TokenRejection) {
        guard let expiration = try time("exp") else { throw .claims }
        guard now < expiration + leeway else { throw .expired }
        for name in ["nbf", "iat"] {
            if let time = try time(name), now + leeway < time { throw .notYetValid }
        }
    }

    private func time(_ name: String) throws(TokenRejection) -> UnixTime? {
        guard let value = claims[name] else { return nil }
        // The limit is the year 9999. Greater values are errors.
        guard let seconds = value.double, seconds >= 0, seconds < 253_402_300_800 else { throw .claims }
        return UnixTime(milliseconds: Int64(seconds * 1000))
    }

    /// Returns the person's id: a string, or a whole number as text.
    func user(at pointer: JSONPointer) throws(TokenRejection) -> UserID {
        let value = JSONValue.object(claims)[pointer]
        guard let text = value?.string ?? value?.int.map(String.init), let user = try? UserID(text) else {
            throw .noUser
        }
        return user
    }
}
