public import APNSModel
import Crypto

/// A JSON Web Token that authenticates the client to APNs (RFC 7519, ES256 of RFC 7518 section 3.4).
///
/// The token's descriptions, its mirror included, show the time of issue but never the token.
public struct ProviderToken: Sendable {
    /// The token as it follows `authorization: bearer `. Never log it.
    public let text: String
    /// The claim `iat`, in whole seconds.
    public let issuedAt: UnixTime

    init(signedWith key: ProviderKey, issuedAt: UnixTime) throws(ProviderKeyError) {
        // `ProviderKey` allows only letters and digits in the ids, so nothing needs escaping.
        let header = #"{"alg":"ES256","kid":"\#(key.keyID)"}"#
        let claims = #"{"iss":"\#(key.teamID)","iat":\#(issuedAt.seconds)}"#
        let signed = "\(Self.base64URL(header.utf8)).\(Self.base64URL(claims.utf8))"
        do {
            // r and s as 32 bytes each, not DER (RFC 7518 section 3.4).
            let signature = try key.privateKey.signature(for: Array(signed.utf8)).rawRepresentation
            text = "\(signed).\(Self.base64URL(signature))"
        } catch {
            throw ProviderKeyError(.signingFailed)
        }
        self.issuedAt = UnixTime(seconds: issuedAt.seconds)
    }

    /// Returns the bytes in base 64 with the URL-safe alphabet and without padding (RFC 7515 appendix C).
    static func base64URL(_ bytes: some Collection<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(group >> bits & 63)])
            }
            group &= (1 << bits) - 1
        }
        if bits > 0 { text.append(alphabet[Int(group << (6 - bits) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }
}

extension ProviderToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description with the time of issue.
    public var description: String { "provider token issued at \(issuedAt)" }
    /// A description with the time of issue.
    public var debugDescription: String { description }
    /// A mirror without the token, because `dump` and test failures print mirrors.
    public var customMirror: Mirror { Mirror(self, children: ["issuedAt": issuedAt]) }
}
