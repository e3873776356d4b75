import Foundation
import LiveActivityCore
import Testing

@testable import islet

struct WebhookConfigurationTests {
    private static let good = "name: backend, url: 'https://a.example.com/x', secretEnvironment: SECRET"
    private static let secret = "whsec_" + String(repeating: "A", count: 32)

    private func error(_ webhooks: String, secret: String = secret) throws -> ConfigurationError? {
        try Folder().error(
            Sample.file(apps: "[\(Sample.app().dropLast()), webhooks: \(webhooks)}]"), ["SECRET": secret])
    }

    @Test func `one that is right is taken`() throws { #expect(try error("[{\(Self.good)}]") == nil) }

    @Test(arguments: [
        ("{\(good)}, {\(good)}", "/apps/0/webhooks/1/name", "configured twice"),
        ("{\(good.replacing("backend", with: "''"))}", "/apps/0/webhooks/0/name", "1 to 64 letters"),
        ("{\(good.replacing("backend", with: "two words"))}", "/apps/0/webhooks/0/name", "1 to 64 letters"),
        ("{\(good.replacing("https:", with: "http:"))}", "/apps/0/webhooks/0/url", "allowPrivate: true"),
        ("{\(good.replacing("https:", with: "ftp:")), allowPrivate: true}", "/apps/0/webhooks/0/url", "https URL"),
        ("{\(good), kinds: []}", "/apps/0/webhooks/0/kinds", "an empty list delivers nothing"),
        ("{\(good), kinds: [ended, all]}", "/apps/0/webhooks/0/kinds/1", "a kind is one of started, held"),
        ("{\(good), timeout: 2m}", "/apps/0/webhooks/0/timeout", "from 100 ms to 60 s"),
        ("{\(good), secretFile: x}", "/apps/0/webhooks/0", "either as secretFile or as secretEnvironment"),
        ("{\(good.replacing("SECRET", with: "NOBODY"))}", "/apps/0/webhooks/0/secretEnvironment", "is not set"),
    ])
    func `one that is wrong is refused with its place`(webhooks: String, pointer: String, words: String) throws {
        let error = try #require(try error("[\(webhooks)]"))
        #expect(error.pointer == pointer && error.problem.contains(words), "\(error)")
    }

    @Test func `a secret of another form is refused, and not quoted`() throws {
        for secret in ["hunter2-and-a-half", "whsec_dG9vIHNob3J0", "whsec_not base64 at all, whatever it is"] {
            let error = try #require(try error("[{\(Self.good)}]", secret: secret))
            #expect(error.pointer == "/apps/0/webhooks/0" && error.problem.contains("openssl rand"))
            #expect(!error.description.contains(secret.suffix(8)))
        }
        let inFile = "name: b, url: 'https://a.example.com', secretFile: \(Self.secret)"
        let error = try #require(try error("[{\(inFile)}]"))
        #expect(error.pointer == "/apps/0/webhooks/0/secretFile" && !error.description.contains("AAAA"))
    }

    @Test func `the report says who is told what, and no secret`() throws {
        let folder = try Folder()
        let file = Sample.file(apps: "[\(Sample.app().dropLast()), webhooks: [{\(Self.good), kinds: [ended, held]}]}]")
        let settings = try folder.load(file, ["SECRET": Self.secret])
        let lines = ConfigurationReport(settings: settings, variables: [:], files: .machine).lines
        #expect(lines.contains("  webhook backend: sends held, ended to https://a.example.com/x"))
        #expect(!lines.joined().contains("AAAA"))
    }
}
