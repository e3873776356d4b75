import APNSModel
import Crypto
import CryptoExtras
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityServer
import Testing

/// The person of a token: which tokens are accepted, and above all which are not.
@Suite struct PersonTokenTests {
    private static let now = UnixTime(seconds: 1_800_000_000)
    private static let secret = Array("an example of thirty-two letters, or more".utf8)
    private static let rsa = try? _RSA.Signing.PrivateKey(keySize: .bits2048)
    private static let ed25519 = Curve25519.Signing.PrivateKey()
    private static let pizza = BundleID("com.acme.pizza")
    private static let bakery = BundleID("com.acme.bakery")

    private static func keys() throws -> [(minter: Minter.Key, key: PersonTokenKey)] {
        let rsa = try #require(rsa)
        return [
            (.secret(secret), try PersonTokenKey(secret: secret)),
            (.p256(Minter.p256), try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)),
            (.ed25519(ed25519), try PersonTokenKey(pem: ed25519.publicKey.pemRepresentation)),
            (.rsa(rsa), try PersonTokenKey(pem: rsa.publicKey.pemRepresentation)),
        ]
    }

    private static func people(
        _ keys: [PersonTokenKey], _ change: (inout PeopleSettings) -> Void = { _ in }
    ) throws -> People {
        var settings = PeopleSettings(issuers: [Minter.issuer], audience: Minter.audience, keys: .fixed(keys))
        change(&settings)
        return People([try #require(pizza): settings])
    }

    private static func rejection(_ people: People, _ token: String) async -> TokenRejection? {
        do throws(TokenRejection) {
            _ = try await people.person(of: token, at: now, MonotonicTime(nanoseconds: 0))
            return nil
        } catch {
            return error
        }
    }

    @Test func `each algorithm proves its own person, and no key is used by another's`() async throws {
        let all = try Self.keys()
        for (index, signer) in all.enumerated() {
            var minter = Minter()
            minter.key = signer.minter
            let token = try minter.token("ada", at: Self.now)
            let person = try await Self.people([signer.key]).person(
                of: token, at: Self.now, MonotonicTime(nanoseconds: 0))
            #expect(person.app == Self.pizza && person.user.text == "ada")
            for (other, verifier) in all.enumerated() where other != index {
                #expect(await Self.rejection(try Self.people([verifier.key]), token) == .algorithm)
                // The header names the key's algorithm, and the signature uses another.
                minter.header["alg"] = .string(verifier.key.algorithm.rawValue)
                let lie = try minter.token("ada", at: Self.now)
                #expect(await Self.rejection(try Self.people([verifier.key]), lie) == .signature)
                minter.header["alg"] = nil
            }
            // Several keys, one of which fits.
            #expect(
                try await Self.people(all.map(\.key)).person(of: token, at: Self.now, MonotonicTime(nanoseconds: 0))
                    .user.text == "ada")
        }
    }

    @Test func `examples of the standards are verified`() async throws {
        let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        // RFC 7515 A.3, and RFC 8037 A.4.
        let examples: [(jwk: JSONObject, token: String)] = [
            (
                [
                    "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
                ],
                "eyJhbGciOiJFUzI1NiJ9.\(payload)."
                    + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            ),
            (
                ["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
                    + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
            ),
        ]
        for (jwk, token) in examples {
            let key = try PersonTokenKey(jwk: jwk)
            let parts = token.split(separator: ".")
            let text = parts[2].replacing("-", with: "+").replacing("_", with: "/") + "=="
            let signature = Array(try #require(Data(base64Encoded: String(text))))
            #expect(await key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
            #expect(await !key.verifies(signature, of: Array("\(parts[0]).\(parts[1])x".utf8)))
        }
    }

    @Test func `none, a public key taken for a secret, and critical headers are impossible`() async throws {
        let pem = Minter.p256.publicKey.pemRepresentation
        let people = try Self.people([try PersonTokenKey(pem: pem)])
        var minter = Minter()
        minter.key = .none
        let unsigned = try minter.token("ada", at: Self.now)
        #expect(await Self.rejection(people, unsigned) == .malformed)
        #expect(await Self.rejection(people, unsigned + "AAAA") == .algorithm)
        for text in ["None", "NONE", "nOnE", "hs256", "HS384", "RS1", ""] {
            let token = try Minter().token("ada", at: Self.now) { $0.header["alg"] = .string(text) }
            #expect(await Self.rejection(people, token) == .algorithm)
        }
        for form in [Array(pem.utf8), Array(Minter.p256.publicKey.x963Representation)] {
            minter.key = .secret(form)
            #expect(await Self.rejection(people, try minter.token("ada", at: Self.now)) == .algorithm)
            minter.header["alg"] = "ES256"
            #expect(await Self.rejection(people, try minter.token("ada", at: Self.now)) == .signature)
            minter.header["alg"] = nil
        }
        // An allow-list without the key's own algorithm, whatever the configuration checks.
        let narrow = try Self.people([try PersonTokenKey(pem: pem)]) { $0.algorithms = [.rs256] }
        #expect(await Self.rejection(narrow, try Minter().token("ada", at: Self.now)) == .algorithm)
        let critical = try Minter().token("ada", at: Self.now) { $0.header["crit"] = ["exp"] }
        #expect(await Self.rejection(people, critical) == .critical)
    }

    @Test(
        arguments: [
            ("exp", -61, .expired), ("exp", -60, .expired), ("exp", -59, nil), ("nbf", 60, nil),
            ("nbf", 61, .notYetValid), ("iat", 61, .notYetValid), ("iat", -99_999, nil),
        ] as [(String, Int, TokenRejection?)])
    func `times hold within the leeway`(claim: String, seconds: Int, expected: TokenRejection?) async throws {
        let people = try Self.people([try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)])
        let token = try Minter().token("ada", at: Self.now) {
            $0.claims[claim] = .number(JSONNumber(Int(Self.now.seconds) + seconds))
        }
        #expect(await Self.rejection(people, token) == expected)
    }

    @Test func `what a token lacks, or has twice, is not made up for`() async throws {
        let people = try Self.people([try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)])
        let rows: [(String, JSONValue?, TokenRejection)] = [
            ("exp", nil, .claims), ("exp", "1900000000", .claims), ("exp", -1, .claims), ("nbf", "soon", .claims),
            ("exp", .number(try #require(JSONNumber("1e300"))), .claims), ("sub", nil, .noUser), ("sub", "", .noUser),
            ("sub", ["ada"], .noUser), ("sub", 1.5, .noUser), ("sub", "a\u{7}", .noUser),
            ("sub", .string(String(repeating: "a", count: 257)), .noUser), ("iss", nil, .nobodys),
            ("iss", "https://id.acme.com/", .nobodys), ("iss", ["https://id.acme.com"], .nobodys),
            ("aud", nil, .nobodys), ("aud", "cake", .nobodys), ("aud", [], .nobodys),
            ("aud", ["cake", ["pizza"]], .nobodys),
        ]
        for (claim, value, expected) in rows {
            let token = try Minter().token("ada", at: Self.now) { $0.claims[claim] = value }
            #expect(await Self.rejection(people, token) == expected, "\(claim) \(value?.description ?? "-")")
        }
        let several = try Minter().token("ada", at: Self.now) { $0.claims["aud"] = ["cake", "pizza"] }
        #expect(await Self.rejection(people, several) == nil)
        let number = try Minter().token("ada", at: Self.now) { $0.claims["sub"] = 42 }
        #expect(try await people.person(of: number, at: Self.now, MonotonicTime(nanoseconds: 0)).user.text == "42")
        let nested = try Self.people([try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)]) {
            $0.user = JSONPointer(tokens: ["app", "id"])
        }
        let inside = try Minter().token("ada", at: Self.now) { $0.claims["app"] = ["id": "eve"] }
        #expect(try await nested.person(of: inside, at: Self.now, MonotonicTime(nanoseconds: 0)).user.text == "eve")
    }

    @Test func `a token that is not in the one form there is is refused`() async throws {
        let people = try Self.people([try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)])
        let good = try Minter().token("ada", at: Self.now)
        let parts = good.split(separator: ".").map(String.init)
        let claims = #"{"iss":"https://id.acme.com","aud":"pizza","sub":"ada","sub":"eve","exp":1900000000}"#
        let texts = [
            "", ".", "..", "...", "a.b.c", "\(parts[0]).\(parts[1])", "\(good).", "\(good).e30", " \(good)", "\(good)=",
            "\(parts[0]).\(parts[1]).", ".\(parts[1]).\(parts[2])",
            "\(parts[0]).\(Minter.base64(Array(claims.utf8))).AA",
            "\(Minter.base64(Array("[]".utf8))).\(parts[1]).\(parts[2])",
            "\(parts[0])é.\(parts[1]).\(parts[2])",
        ]
        for text in texts { #expect(await Self.rejection(people, text) == .malformed, "\(text)") }
        let large = try Minter().token("ada", at: Self.now) {
            $0.claims["x"] = .string(String(repeating: "x", count: 8192))
        }
        #expect(await Self.rejection(people, large) == .tooLong)
    }

    @Test func `any letter that is changed makes it another token`() async throws {
        let people = try Self.people([try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)])
        let good = try Minter().token("ada", at: Self.now)
        for index in good.indices {
            var text = good
            text.replaceSubrange(index...index, with: good[index] == "A" ? "B" : "A")
            #expect(await Self.rejection(people, text) != nil, "\(text)")
        }
    }

    @Test func `a token that two apps would take is neither's`() async throws {
        let key = try PersonTokenKey(pem: Minter.p256.publicKey.pemRepresentation)
        let people = People([
            try #require(Self.pizza): PeopleSettings(issuers: [Minter.issuer], audience: "pizza", keys: .fixed([key])),
            try #require(Self.bakery): PeopleSettings(issuers: [Minter.issuer], audience: "cake", keys: .fixed([key])),
        ])
        let both = try Minter().token("ada", at: Self.now) { $0.claims["aud"] = ["pizza", "cake"] }
        #expect(await Self.rejection(people, both) == .nobodys)
        let cake = try Minter().token("ada", at: Self.now) { $0.claims["aud"] = "cake" }
        #expect(try await people.person(of: cake, at: Self.now, MonotonicTime(nanoseconds: 0)).app == Self.bakery)
    }

    /// An RSA key of 1024 bits.
    private static let shortKey = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDmf0NUQRKJybzvWbuyRM5o9K1q
        kzMr8kKxATSLwoLfhAFdyD8XgPpwzABoelnS+G6fSJYJyF54t2EmtKKkPlTPx4j3
        sOegUm+cu8bTqIJiy44dE/+yogAJeBzZnH8QMhOsgzuKZl6AIIBC91aX7ym4wsOS
        i3dqywM1fY/5cybgkwIDAQAB
        -----END PUBLIC KEY-----
        """

    @Test func `a key that is too weak, or no public one, is refused, and nothing of it is said`() throws {
        func words(_ make: () throws(TokenKeyError) -> PersonTokenKey) -> String {
            do throws(TokenKeyError) { return "\(try make())" } catch { return error.description }
        }
        let short = Array("only thirty-one letters in here".utf8)
        #expect(words { () throws(TokenKeyError) in try PersonTokenKey(secret: short) }.contains("32 bytes at least"))
        let dull = [UInt8](repeating: 65, count: 64)
        #expect(words { () throws(TokenKeyError) in try PersonTokenKey(secret: dull) }.contains("random"))
        #expect(words { () throws(TokenKeyError) in try PersonTokenKey(pem: Self.shortKey) }.contains("2048 bits"))
        let p256 = Minter.p256.pemRepresentation
        #expect(words { () throws(TokenKeyError) in try PersonTokenKey(pem: p256) }.contains("private"))
        let p384 = P384.Signing.PrivateKey().publicKey.pemRepresentation
        for text in ["", "hello", p384] {
            #expect(words { () throws(TokenKeyError) in try PersonTokenKey(pem: text) }.contains("no public key"))
        }
        var dumped = ""
        dump(try PersonTokenKey(secret: Self.secret), to: &dumped)
        #expect(!dumped.contains("letters") && dumped.contains("hs256"))
    }
}
