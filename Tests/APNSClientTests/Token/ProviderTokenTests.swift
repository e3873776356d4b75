import APNSClient
import APNSModel
import Crypto
import JSONText
import Testing

@Suite struct ProviderTokenTests {
    @Test func `a token is what Apple asks for, and its signature verifies`() throws {
        let secret = P256.Signing.PrivateKey()
        let key = try ProviderKey(keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: secret.pemRepresentation)
        let token = try key.makeToken(issuedAt: UnixTime(milliseconds: 1_763_700_000_999))
        let parts = token.text.split(separator: ".")
        try #require(parts.count == 3)
        #expect(try JSONValue(parsing: decode(parts[0])) == ["alg": "ES256", "kid": "ABC123DEFG"])
        #expect(try JSONValue(parsing: decode(parts[1])) == ["iss": "XYZ987MNOP", "iat": 1_763_700_000])
        let signature = decode(parts[2])
        #expect(signature.count == 64)
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(
            secret.publicKey.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature), for: signed))
        #expect(!token.text.contains("="))
    }

    @Test func `neither key nor token is printed`() throws {
        let secret = P256.Signing.PrivateKey()
        let key = try ProviderKey(keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: secret.pemRepresentation)
        let token = try key.makeToken(issuedAt: UnixTime(seconds: 0))
        var dumped = ""
        dump(key, to: &dumped)
        dump(token, to: &dumped)
        let printed = "\(key) \(String(reflecting: key)) \(token) \(String(reflecting: token)) \(dumped)"
        #expect(!printed.contains(token.text.suffix(20)))
        #expect(!printed.contains("rawRepresentation") && !printed.contains("privateKey"))
        #expect(printed.contains("ABC123DEFG"))
    }

    @Test func `a key survives the blanks and line ends that editors add`() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let wild = "\n  " + pem.split(separator: "\n").joined(separator: "  \r\n ") + "\r\n\r\n"
        let plain = try ProviderKey(keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: pem)
        #expect(try ProviderKey(keyID: "ABC123DEFG", teamID: "XYZ987MNOP", p8: wild) == plain)
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let code: ProviderKeyError.Code
        let advice: String
        var keyID = "ABC123DEFG"
        var teamID = "XYZ987MNOP"
        var p8 = P256.Signing.PrivateKey().pemRepresentation
        var testDescription: String { advice }
    }

    @Test(arguments: [
        Refusal(code: .malformedKeyID(3), advice: "AuthKey_", keyID: "ABC"),
        Refusal(code: .malformedKeyID(10), advice: "10 letters and digits", keyID: "ABC123DEF\""),
        Refusal(code: .malformedTeamID(0), advice: "Membership", teamID: ""),
        Refusal(code: .notPEM, advice: ".p8", p8: "hello"),
        Refusal(code: .notPEM, advice: ".p8", p8: ""),
        Refusal(
            code: .certificate, advice: "token authentication only",
            p8: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
        Refusal(
            code: .encrypted, advice: "password",
            p8: "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----"),
        Refusal(code: .publicKey, advice: "private", p8: P256.Signing.PrivateKey().publicKey.pemRepresentation),
        Refusal(code: .notP256, advice: "P-256", p8: P384.Signing.PrivateKey().pemRepresentation),
        Refusal(code: .notP256, advice: "damaged", p8: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"),
    ])
    func `a key that cannot be used says what to do`(refusal: Refusal) throws {
        let error = try #require(throws: ProviderKeyError.self) {
            try ProviderKey(keyID: refusal.keyID, teamID: refusal.teamID, p8: refusal.p8)
        }
        #expect(error.code == refusal.code)
        #expect(error.description.contains(refusal.advice))
    }

    private func decode(_ text: Substring) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var bits = text.flatMap { character -> [Int] in
            let value = alphabet.firstIndex(of: character) ?? 0
            return (0..<6).map { value >> (5 - $0) & 1 }
        }
        var bytes: [UInt8] = []
        while bits.count >= 8 {
            bytes.append(UInt8(bits.prefix(8).reduce(0) { $0 * 2 + $1 }))
            bits.removeFirst(8)
        }
        return bytes
    }
}
