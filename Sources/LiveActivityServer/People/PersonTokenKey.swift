package import JSONText
import JWTKit

/// The signature algorithms of people's tokens, named as in RFC 7518 and RFC 8037. `none` is never accepted.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case eddsa = "EdDSA"
}

/// The reason why a key cannot verify tokens. Quotes nothing of the key.
package struct TokenKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A key that verifies people's tokens, and the only algorithm for which it is used.
///
/// A token's header can select among keys, but never how a key is used.
package struct PersonTokenKey: Sendable, CustomStringConvertible, CustomReflectable {
    private enum Material: Sendable {
        case secret(HMACKey)
        case rsa(Insecure.RSA.PublicKey)
        case ecdsa(ES256PublicKey)
        case eddsa(EdDSA.PublicKey)
    }

    /// RFC 7518 section 3.2: at least as long as the hash.
    package static let minimumSecretBytes = 32
    /// RFC 7518 section 3.3.
    package static let minimumModulusBits = 2048

    /// The name of the key in a token (`kid`). `nil` if the key has no name.
    package let id: String?
    private let material: Material

    package var algorithm: TokenAlgorithm {
        switch material {
        case .secret: .hs256
        case .rsa: .rs256
        case .ecdsa: .es256
        case .eddsa: .eddsa
        }
    }

    /// Creates a key from a shared secret, for HS256.
    package init(secret: [UInt8]) throws(TokenKeyError) {
        guard secret.count >= Self.minimumSecretBytes else {
            throw TokenKeyError(
                "a shared secret has \(Self.minimumSecretBytes) bytes at least, and this one \(secret.count)")
        }
        guard Set(secret).count >= 8 else {
            throw TokenKeyError("a shared secret is random: this one repeats a few characters")
        }
        id = nil
        material = .secret(HMACKey(from: secret))
    }

    /// Creates a key from a public key in PEM form (`-----BEGIN PUBLIC KEY-----`).
    ///
    /// RSA keys are for RS256, P-256 keys for ES256, and Ed25519 keys for EdDSA.
    package init(pem: String) throws(TokenKeyError) {
        guard !pem.contains("PRIVATE KEY") else {
            throw TokenKeyError("it is a private key: give the public one, and keep this one where tokens are signed")
        }
        id = nil
        if let key = try? ES256PublicKey(pem: pem) {
            material = .ecdsa(key)
        } else if let key = try? EdDSA.PublicKey(pem: pem) {
            material = .eddsa(key)
        } else {
            do {
                material = .rsa(try Insecure.RSA.PublicKey(pem: pem))
            } catch  where Self.isTooSmall(error) {
                throw Self.tooSmall
            } catch {
                throw TokenKeyError(
                    "it is no public key in PEM form of RSA (\(Self.minimumModulusBits) bits), P-256 or Ed25519"
                )
            }
        }
    }

    /// Creates a key from a public key of a key set (RFC 7517).
    package init(jwk: JSONObject) throws(TokenKeyError) {
        func text(_ name: String) throws(TokenKeyError) -> String {
            guard let text = jwk[name]?.string, 1...2048 ~= text.utf8.count, Base64URL.decode(text) != nil else {
                throw TokenKeyError("its `\(name)` is no base64url")
            }
            return text
        }
        id = jwk["kid"]?.string
        if let use = jwk["use"], use != "sig" { throw TokenKeyError("it is not for signatures") }
        do {
            switch (jwk["kty"]?.string, jwk["crv"]?.string) {
            case ("RSA", _):
                material = .rsa(try Insecure.RSA.PublicKey(modulus: text("n"), exponent: text("e")))
            case ("EC", "P-256"): material = .ecdsa(try ES256PublicKey(parameters: (x: text("x"), y: text("y"))))
            case ("OKP", "Ed25519"): material = .eddsa(try EdDSA.PublicKey(x: text("x"), curve: .ed25519))
            // A symmetric key that everybody can read proves nothing.
            default: throw TokenKeyError("its kind is none of RSA, P-256 and Ed25519")
            }
        } catch let error as TokenKeyError {
            throw error
        } catch  where Self.isTooSmall(error) {
            throw Self.tooSmall
        } catch {
            throw TokenKeyError("its numbers are no key")
        }
        if let named = jwk["alg"], named.string != algorithm.rawValue {
            throw TokenKeyError("it is for another algorithm than \(algorithm.rawValue)")
        }
    }

    /// Returns `true` for JWTKit's error about small keys.
    ///
    /// JWTKit does not expose this error, so it is recognized by its name. The name serves only for a better message.
    private static func isTooSmall(_ error: any Error) -> Bool { "\(error)" == "keySizeTooSmall" }

    private static let tooSmall = TokenKeyError("an RSA key has \(minimumModulusBits) bits at least")

    /// Returns `true` if this key made the signature, by the key's own algorithm.
    package func verifies(_ signature: [UInt8], of bytes: [UInt8]) async -> Bool {
        let keys = JWTKeyCollection()
        switch material {
        case .secret(let key): await keys.add(hmac: key, digestAlgorithm: .sha256)
        case .rsa(let key): await keys.add(rsa: key, digestAlgorithm: .sha256)
        case .ecdsa(let key): await keys.add(ecdsa: key)
        case .eddsa(let key): await keys.add(eddsa: key)
        }
        guard let verifier = try? await keys.getKey() else { return false }
        return (try? verifier.verify(signature, signs: bytes)) ?? false
    }

    package var description: String { "\(algorithm.rawValue) key\(id.map { " \($0.prefix(64))" } ?? "")" }
    package var customMirror: Mirror { Mirror(self, children: ["algorithm": algorithm]) }
}

/// Base64url without padding (RFC 4648 section 5), in its canonical form only.
enum Base64URL {
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3 / 4)
        var (buffer, bits) = (UInt32(0), UInt32(0))
        for letter in text.utf8 {
            guard let value = value(of: letter) else { return nil }
            buffer = buffer << 6 | value
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
        }
        // The unused bits of the last letter must be 0, so that each byte sequence has only one text.
        guard bits < 6, buffer & (1 << bits - 1) == 0 else { return nil }
        return bytes
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var (buffer, bits) = (UInt32(0), UInt32(0))
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> bits) & 63])
            }
        }
        if bits > 0 { text.append(alphabet[Int(buffer << (6 - bits)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func value(of letter: UInt8) -> UInt32? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
