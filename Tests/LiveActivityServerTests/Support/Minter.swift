import APNSModel
import Crypto
import CryptoExtras
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityServer

/// Signs people's tokens, independently of the code that verifies them.
struct Minter: Sendable {
    enum Key: Sendable {
        case secret([UInt8])
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
        case rsa(_RSA.Signing.PrivateKey)
        case none

        var algorithm: String {
            switch self {
            case .secret: "HS256"
            case .p256: "ES256"
            case .ed25519: "EdDSA"
            case .rsa: "RS256"
            case .none: "none"
            }
        }

        func signature(of bytes: [UInt8]) throws -> [UInt8] {
            switch self {
            case .secret(let secret):
                Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: secret)))
            case .p256(let key): Array(try key.signature(for: bytes).rawRepresentation)
            case .ed25519(let key): Array(try key.signature(for: bytes))
            case .rsa(let key):
                Array(try key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
            case .none: []
            }
        }
    }

    static let issuer = "https://id.acme.com"
    static let audience = "pizza"
    static let p256 = P256.Signing.PrivateKey()

    var key = Key.p256(Self.p256)
    var header: JSONObject = [:]
    var claims: JSONObject = ["iss": .string(Self.issuer), "aud": .string(Self.audience)]

    /// Returns a person's token that is valid for an hour.
    func token(_ user: String, at now: UnixTime, _ change: (inout Self) -> Void = { _ in }) throws -> String {
        var minter = self
        minter.claims["sub"] = .string(user)
        minter.claims["exp"] = .number(JSONNumber(Int(now.seconds) + 3600))
        change(&minter)
        return try minter.text()
    }

    func text() throws -> String {
        var header = header
        if header["alg"] == nil { header["alg"] = .string(key.algorithm) }
        let signed = "\(Self.base64(JSONValue.object(header).bytes)).\(Self.base64(JSONValue.object(claims).bytes))"
        return try "\(signed).\(Self.base64(key.signature(of: Array(signed.utf8))))"
    }

    static func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Returns a member of a key set.
    static func jwk(_ key: P256.Signing.PublicKey, id: String?) -> JSONObject {
        let raw = Array(key.rawRepresentation)
        var jwk: JSONObject = [
            "kty": "EC", "crv": "P-256", "x": .string(base64(raw[..<32])), "y": .string(base64(raw[32...])),
            "use": "sig",
        ]
        if let id { jwk["kid"] = .string(id) }
        return jwk
    }

    static func keySet(_ keys: [JSONObject]) -> [UInt8] {
        JSONValue.object(["keys": .array(keys.map(JSONValue.object))]).bytes
    }

    /// Returns the settings of the pizza app's people in the tests.
    static func people() throws -> PeopleSettings {
        PeopleSettings(
            issuers: [issuer], audience: audience,
            keys: .fixed([try PersonTokenKey(pem: p256.publicKey.pemRepresentation)]))
    }
}
