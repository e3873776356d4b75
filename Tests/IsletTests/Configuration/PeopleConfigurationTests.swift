import APNSModel
import Crypto
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityServer
import Testing

@testable import islet

/// The `people:` section of an app: whose tokens are accepted, and which configurations are refused at the start.
struct PeopleConfigurationTests {
    private static let secret = "an example of thirty-two letters, or more"

    private static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA9T46rx0OMQ/ni+/a8N0S4sT3IoVXiMvGDlQXYsnX8bg=
        -----END PUBLIC KEY-----
        """

    private func app(_ people: String) -> String {
        Sample.app().replacing(", activities:", with: ", people: \(people), activities:")
    }

    private func yaml(_ people: String) -> String { Sample.file(apps: "[\(app(people))]") }

    @Test func `keys in files and variables reach their settings, and several of them at once`() throws {
        let folder = try Folder()
        let first = P256.Signing.PrivateKey().publicKey.pemRepresentation
        try folder.write(first + "\n\n" + Self.ed25519 + "\n", to: "keys.pem")
        try folder.write("\(Self.secret)\n\n  \(Self.secret) again \n", to: "secrets")
        func algorithms(_ people: String, _ variables: [String: String] = [:]) throws -> [TokenAlgorithm] {
            let settings = try folder.load(yaml(people), variables)
            guard case .fixed(let keys)? = settings.people.values.first?.keys else { return [] }
            return keys.map(\.algorithm)
        }
        let who = "issuers: [a, b], audience: c"
        #expect(try algorithms("{\(who), keyFile: keys.pem}") == [.es256, .eddsa])
        #expect(try algorithms("{\(who), secretFile: secrets}") == [.hs256, .hs256])
        #expect(try algorithms("{\(who), secretEnvironment: PEOPLE}", ["PEOPLE": Self.secret]) == [.hs256])
        let settings = try folder.load(yaml("{\(who), secretFile: secrets}"))
        let people = try #require(settings.people.values.first)
        #expect(people.issuers == ["a", "b"] && people.algorithms == Set(TokenAlgorithm.allCases))
        #expect(people.leeway == .seconds(60) && people.user == JSONPointer(tokens: ["sub"]))
        #expect(settings.credentialIdleLimit == .seconds(90 * 86_400))
        #expect(try folder.load(Sample.file()).people.isEmpty)
    }

    @Test(arguments: [
        ("{audience: c, keyFile: k}", "/issuers", "missing"),
        ("{issuers: [], audience: c, keyFile: k}", "/issuers", "one"),
        ("{issuers: [a], audience: '', keyFile: k}", "/audience", "empty"),
        ("{issuers: [a], audience: c}", "", "give one of"),
        ("{issuers: [a], audience: c, keyFile: k, secretFile: s}", "", "give one of"),
        ("{issuers: [a], audience: c, keyFile: missing.pem}", "/keyFile", "cannot be read"),
        ("{issuers: [a], audience: c, keyFile: short}", "/keyFile", "no public key"),
        ("{issuers: [a], audience: c, keyFile: private.pem}", "/keyFile", "private"),
        ("{issuers: [a], audience: c, secretFile: short}", "/secretFile", "32 bytes at least, and this one 5"),
        ("{issuers: [a], audience: c, secretFile: empty}", "/secretFile", "the secret is empty"),
        ("{issuers: [a], audience: c, secretEnvironment: NOWHERE}", "/secretEnvironment", "NOWHERE is not set"),
        ("{issuers: [a], audience: c, secretEnvironment: 'not a name'}", "/secretEnvironment", "the name of"),
        ("{issuers: [a], audience: c, jwks: {url: 'http://id.acme.com'}}", "/jwks/url", "https"),
        ("{issuers: [a], audience: c, jwks: {url: 'https://me@id.acme.com'}}", "/jwks/url", "no user"),
        ("{issuers: [a], audience: c, jwks: {url: 'ftp://a', allowPrivate: true}}", "/jwks/url", "https"),
        ("{issuers: [a], audience: c, jwks: {url: 'https://a', refresh: 59s}}", "/jwks/refresh", "1m to 1d"),
        ("{issuers: [a], audience: c, keyFile: good.pem, algorithms: [none]}", "/algorithms", "a list of HS256"),
        ("{issuers: [a], audience: c, keyFile: good.pem, algorithms: []}", "/algorithms", "a list of"),
        ("{issuers: [a], audience: c, keyFile: good.pem, algorithms: [RS256]}", "/algorithms", "ES256, which is not"),
        ("{issuers: [a], audience: c, keyFile: good.pem, user: sub}", "/user", "JSON Pointer"),
        ("{issuers: [a], audience: c, keyFile: good.pem, leeway: 11m}", "/leeway", "0s to 10m"),
    ])
    func `what could not hold is refused with its place, and no secret is said`(
        people: String, pointer: String, words: String
    ) throws {
        let folder = try Folder()
        let key = P256.Signing.PrivateKey()
        try folder.write("hello", to: "short")
        try folder.write(" \n", to: "empty")
        try folder.write(key.pemRepresentation, to: "private.pem")
        try folder.write(key.publicKey.pemRepresentation, to: "good.pem")
        let error = try #require(try folder.error(yaml(people)))
        #expect(error.pointer == "/apps/0/people" + pointer, "\(error)")
        #expect(error.problem.contains(words), "\(error)")
        #expect(!error.description.contains("hello"))
    }

    @Test func `two apps that a token could not tell apart are refused`() throws {
        let folder = try Folder()
        try folder.write(Self.secret, to: "secret")
        let first = app("{issuers: [a, b], audience: c, secretFile: secret}")
        let second = first.replacing("com.acme.pizza", with: "com.acme.cake")
        let same = Sample.file(apps: "[\(first), \(second.replacing("[a, b]", with: "[b]"))]")
        #expect(try folder.error(same)?.pointer == "/apps/1/people/audience")
        let other = Sample.file(apps: "[\(first), \(second.replacing("audience: c", with: "audience: d"))]")
        #expect(try folder.load(other).people.count == 2)
    }
}
