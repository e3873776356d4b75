import Crypto
import Foundation
import StorageSQL
import Testing

@testable import islet

struct BadConfigurationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let yaml: String
        let pointer: String
        let words: String
        var testDescription: String { "\(pointer) \(words)" }

        init(_ yaml: String, _ pointer: String, _ words: String) {
            self.yaml = yaml
            self.pointer = pointer
            self.words = words
        }
    }

    private func check(_ row: Case) throws {
        let error = try #require(try Folder().error(row.yaml))
        #expect(error.pointer == row.pointer)
        #expect(error.problem.contains(row.words), "it says: \(error.problem)")
        #expect(!error.description.contains("\n"))
        #expect(error.file.hasSuffix("/islet.yaml"))
    }

    @Test(arguments: [
        Case("", "", "the file is empty"),
        Case("# nothing\n", "", "the file is empty"),
        Case("null", "", "expected object, given null"),
        Case("apps", "", "expected object"),
        Case("apps: [", "", "the file is not YAML: line 2, column 1: "),
        Case("a: 'b\n", "", "the file is not YAML: line 2"),
        Case("\tapps: x", "", "the file is not YAML: line 1"),
        Case("a: \u{1}", "", "the file is not YAML: control characters are not allowed"),
        Case("apps: []\n---\napps: []\n", "", "the file is not YAML: line 2, column 1: but found another document"),
        Case("apps: []\napps: []\n", "", "duplicate key `apps` (in the object that begins in line 1)"),
        Case("apps: &a []\nlisten: *a\n", "", "YAML anchors and aliases are not supported: repeat the value (line 1)"),
        Case("apps: *a\n", "", "the file is not YAML: line 1, column 7: found undefined alias"),
        Case("? [1]\n: 2\n", "", "a key is not a string (line 1)"),
        Case("listen: 127.0.0.1:0\n", "/apps", "missing, expected array"),
        Case(Sample.file("lisen: x"), "/lisen", "unknown field; did you mean `listen`?"),
        Case(Sample.file("colour: x"), "/colour", "unknown field; known fields: "),
        Case(Sample.file(apps: "{}"), "/apps", "expected array, given object"),
        Case(Sample.file(apps: "[]"), "/apps", "at least one app is needed"),
    ])
    func `what is no configuration at all is refused in one line`(_ row: Case) throws { try check(row) }

    @Test func `a small file that would unfold to a huge one is refused before it is unfolded`() throws {
        var yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...30 {
            let alias = "*a\(level - 1)"
            yaml += "a\(level): &a\(level) [\(Array(repeating: alias, count: 10).joined(separator: ", "))]\n"
        }
        #expect(
            try Folder().error(yaml)?.problem == "YAML anchors and aliases are not supported: repeat the value "
                + "(line 1)")
    }

    @Test(arguments: [
        "127.0.0.1", ":8080", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+80", "127.0.0.1:http",
        "::1", "::1:8080", "[::1]", "[::1:8080", "::1]:8080", "[127.0.0.1]:8080", "http://127.0.0.1:8080", "[]:80",
        "a b:80", "[[::1]]:80", "",
    ])
    func `an address that is not host and port is refused`(_ listen: String) throws {
        try check(
            Case(Sample.file("listen: '\(listen)'"), "/listen", listen == ":8080" ? "names no host" : "host:port"))
    }

    @Test(arguments: ["mysql://islet@db/islet", "postgres:islet", "islet.db", "sqlite:", "sqlite", "SQLite:islet.db"])
    func `a database is a path of SQLite or a URL of PostgreSQL`(_ storage: String) throws {
        try check(Case(Sample.file("storage: '\(storage)'"), "/storage", "neither sqlite:path nor a URL"))
    }

    @Test(arguments: ["postgres://islet:secret@db/islet", "postgresql:///islet"])
    func `a database of PostgreSQL has no keys beside it`(_ storage: String) throws {
        try check(Case(Sample.file("storage: '\(storage)'"), "/tokenKeys", "with PostgreSQL, say where the keys are"))
    }

    @Test(arguments: [
        ("nodes: {listen: '127.0.0.1:0'}", "/nodes/listen", "a port other than 0"),
        ("nodes: {listen: '0.0.0.0:8090'}", "/nodes/listen", "is every address of this machine"),
        ("nodes: {listen: '[::]:8090'}", "/nodes/listen", "is every address of this machine"),
        ("nodes: {listen: '8090'}", "/nodes/listen", "is not host:port"),
        ("nodes: {address: 'http://a:1'}", "/nodes/listen", "missing"),
        ("nodes: {listen: '10.0.0.5:1', address: 'a:1'}", "/nodes/address", "a URL with http and without a path"),
        ("nodes: {listen: '10.0.0.5:1', address: 'http://a/b'}", "/nodes/address", "without a path"),
        ("nodes: {listen: '10.0.0.5:1', address: 'https://a:1'}", "/nodes/address", "it uses TLS if the API does"),
        ("nodes: {listen: '10.0.0.5:1', trustRoots: none.pem}", "/nodes/trustRoots", "holds no certificate"),
        ("durability: both", "/durability", "neither `server` nor `twoSafe`"),
    ])
    func `what other nodes or a standby need is said`(_ lines: String, _ pointer: String, _ words: String) throws {
        let yaml = Sample.file("storage: 'postgres://db/islet'\ntokenKeys: {environment: RING}\n\(lines)")
        let error = try #require(try Folder().error(yaml, ["RING": TokenKeyRing.fresh().text]))
        #expect(error.pointer == pointer)
        #expect(error.problem.contains(words), "it says: \(error.problem)")
    }

    @Test(arguments: [
        ("nodes: {listen: '10.0.0.5:8090'}", "/nodes", "several nodes need PostgreSQL"),
        ("durability: twoSafe", "/durability", "needs PostgreSQL with a standby"),
    ])
    func `a SQLite file has one server and no standby`(_ lines: String, _ pointer: String, _ words: String) throws {
        try check(Case(Sample.file(lines), pointer, words))
    }

    private static let sandbox = "/apps/0/apns/sandbox"

    @Test(arguments: [
        Case(Sample.file(key: "{keyFile: key.p8, teamID: XYZ987MNOP}"), "\(sandbox)/keyID", "missing: the ten"),
        Case(Sample.file(key: "{keyFile: key.p8, keyID: ABC123DEFG}"), "\(sandbox)/teamID", "missing: the ten"),
        Case(
            Sample.file(key: "{keyFile: key.p8, keyID: 1234567890, teamID: XYZ987MNOP}"), "\(sandbox)/keyID",
            "expected string, given number; put it in quotes"),
        Case(
            Sample.file(key: "{keyFile: key.p8, keyID: ABC123DEFG, teamID: 1234567E90}"), "\(sandbox)/teamID",
            "expected string, given 1234567E90; put it in quotes"),
        Case(
            Sample.file(key: "{keyFile: key.p8, keyID: true, teamID: XYZ987MNOP}"), "\(sandbox)/keyID",
            "expected string, given boolean; put it in quotes"),
        Case(
            Sample.file(key: "{keyFile: [key.p8], keyID: ABC123DEFG, teamID: XYZ987MNOP}"), "\(sandbox)/keyFile",
            "expected string, given array"),
        Case(Sample.file(key: "{keyFile: key.p8, keyID: SHORT, teamID: XYZ987MNOP}"), sandbox, "has 5 bytes"),
        Case(Sample.file(key: "{keyID: ABC123DEFG, teamID: XYZ987MNOP}"), sandbox, "either as keyFile or as key"),
        Case(
            Sample.file(key: "{keyFile: key.p8, keyEnvironment: KEY, keyID: ABC123DEFG, teamID: XYZ987MNOP}"), sandbox,
            "either as keyFile or as keyEnvironment"),
        Case(
            Sample.file(key: "{keyFile: none.p8, keyID: ABC123DEFG, teamID: XYZ987MNOP}"), "\(sandbox)/keyFile",
            "`none.p8` cannot be read"),
        Case(
            Sample.file(key: "{keyFile: ., keyID: ABC123DEFG, teamID: XYZ987MNOP}"), "\(sandbox)/keyFile",
            "`.` cannot be read"),
        Case(
            Sample.file(key: "{keyFile: islet.yaml, keyID: ABC123DEFG, teamID: XYZ987MNOP}"), sandbox,
            "this is not a .p8 file"),
        Case(
            Sample.file(key: "{keyEnvironment: NO_SUCH, keyID: ABC123DEFG, teamID: XYZ987MNOP}"),
            "\(sandbox)/keyEnvironment", "the environment variable NO_SUCH is not set"),
        Case(
            Sample.file(key: "{certificateFile: push.pem}"), "\(sandbox)/certificateFile",
            "Apple accepts no certificates for Live Activities, only a token key: give keyFile (a .p8), keyID and "
                + "teamID"),
        Case(
            Sample.file(key: "{keyfile: key.p8, keyID: ABC123DEFG, teamID: XYZ987MNOP}"), "\(sandbox)/keyfile",
            "unknown field; did you mean `keyFile`?"),
        Case(Sample.file(apps: "[\(Sample.app(apns: "{}"))]"), "/apps/0/apns", "a key for `sandbox` or `production`"),
        Case(Sample.file(apps: "[\(Sample.app(apns: "{dev: {}}"))]"), "/apps/0/apns/dev", "unknown field"),
    ])
    func `a key that cannot sign is refused with what to give`(_ row: Case) throws { try check(row) }

    @Test(arguments: [
        "http://127.0.0.1:2197", "127.0.0.1:2197", "https://", "https://host:0", "https://host:x", "https://host/path",
    ])
    func `an endpoint that is not https, host and port is refused`(_ endpoint: String) throws {
        let key = "{keyFile: key.p8, keyID: ABC123DEFG, teamID: XYZ987MNOP, endpoint: '\(endpoint)'}"
        try check(Case(Sample.file(key: key), "\(Self.sandbox)/endpoint", "endpoint"))
    }

    @Test func `a key on another curve, a public key, a certificate: refused, and nothing of them is said`() throws {
        let folder = try Folder()
        let other = P384.Signing.PrivateKey().pemRepresentation
        let open = folder.signingKey.publicKey.pemRepresentation
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
        for (pem, words) in [(other, "P-256"), (open, "public key"), (certificate, "certificate"), ("", "not a .p8")] {
            try folder.write(pem, to: "key.p8")
            let error = try #require(try folder.error(Sample.file()))
            #expect(error.pointer == "/apps/0/apns/sandbox")
            #expect(error.problem.contains(words), "it says: \(error.problem)")
            for line in pem.split(separator: "\n") where !line.hasPrefix("-") {
                #expect(!error.description.contains(line))
            }
        }
    }

    private static let activities = "/apps/0/activities"
    private static let policy = "/apps/0/activities/0/policy"

    @Test(arguments: [
        Case(Sample.file(apps: "[\(Sample.app(types: "[]"))]"), activities, "at least one activity type is needed"),
        Case(
            Sample.file(apps: "[\(Sample.app(types: "[\(Sample.type()), \(Sample.type())]"))]"),
            "\(activities)/1/type", "`Order` is configured twice"),
        Case(
            Sample.file(apps: "[\(Sample.app()), \(Sample.app())]"), "/apps/1/bundleID",
            "`com.acme.pizza` is configured twice"),
        Case(
            Sample.file().replacing("com.acme.pizza", with: "com acme"), "/apps/0/bundleID",
            "`com acme` is not a bundle id such as com.acme.pizza"),
        Case(Sample.file().replacing("type: Order,", with: "type: '',"), "\(activities)/0/type", "1 to 128 bytes"),
        Case(
            Sample.file().replacing("OrderAttributes", with: "''"), "\(activities)/0/attributesType",
            "the Swift name of the app's ActivityAttributes type"),
        Case(
            Sample.file(apps: "[\(Sample.app(types: "[\(Sample.type(more: ", activityIDAttribute: id"))]"))]"),
            "\(activities)/0/activityIDAttribute", "starts with `/`"),
        Case(Sample.file(policy: "{}"), "\(policy)/startAlert", "missing: APNs accepts a start without an alert"),
        Case(Sample.file(policy: "{startAlert: {body: b}}"), "\(policy)/startAlert/title", "missing"),
        Case(Sample.file(policy: "{startAlert: {title: 5}}"), "\(policy)/startAlert/title", "a string or {locKey"),
        Case(Sample.file(policy: "{coalescingWindow: 6m}"), "\(policy)/coalescingWindow", "1s to 5m"),
        Case(Sample.file(policy: "{endAfter: 30m}"), "\(policy)/endAfter", "at least 1h"),
        Case(Sample.file("connections: {maximum: 65}"), "/connections/maximum", "between 1 and 64"),
        Case(Sample.file("connections: {idleLifetime: 0s}"), "/connections/idleLifetime", "1s to 1d"),
        Case(Sample.file("connections: {queuedPushes: 1}"), "/connections/queuedPushes", "between 1000"),
        Case(Sample.file("keep: {endedDays: 0}"), "/keep/endedDays", "between 1 and 3650"),
        Case(Sample.file("tracing: {share: 0.5}"), "/tracing/endpoint", "missing"),
        Case(Sample.file("tracing: {endpoint: collector:4318}"), "/tracing/endpoint", "http or https URL"),
        Case(Sample.file("tracing: {endpoint: \"http://a/v1/traces\", share: 2}"), "/tracing/share", "from 0 to 1"),
        Case(Sample.file("limits: {requestsPerSecond: 0}"), "/limits/requestsPerSecond", "between 1 and 1000000"),
        Case(Sample.file("limits: {requestsPerSecond: many}"), "/limits/requestsPerSecond", "a whole number, or `off`"),
        Case(
            Sample.file("limits: {joinsPerMinutePerAddress: 0}"), "/limits/joinsPerMinutePerAddress",
            "between 1 and 1000000"),
        Case(Sample.file("limits: {openRequests: 0}"), "/limits/openRequests", "between 1 and 100000"),
        Case(Sample.file("limits: {connections: 0}"), "/limits/connections", "between 1 and 1000000"),
        Case(Sample.file("tls: {certificate: none.crt, key: key.p8}"), "/tls/certificate", "none.crt cannot be read"),
        Case(Sample.file("tls: {certificate: key.p8, key: key.p8}"), "/tls/certificate", "holds no certificate"),
        Case(Sample.file("tls: {certificate: a.crt}"), "/tls/key", "missing"),
        Case(Sample.file("keep: {days: 3}"), "/keep/days", "unknown field"),
        Case(Sample.file(policy: "{coalescingWindow: 0.5}"), "\(policy)/coalescingWindow", "1s to 5m"),
        Case(Sample.file(policy: "{coalescingWindow: 0s}"), "\(policy)/coalescingWindow", "1s to 5m"),
        Case(Sample.file(policy: "{startGrace: soon}"), "\(policy)/startGrace", "a duration such as `90s`"),
        Case(Sample.file(policy: "{startGrace: -1}"), "\(policy)/startGrace", "a duration such as `90s`"),
        Case(Sample.file(policy: "{staleAfter: 31d}"), "\(policy)/staleAfter", "at most 30 days"),
        Case(Sample.file(policy: "{reusable: yes}"), "\(policy)/reusable", "expected boolean"),
        Case(Sample.file(policy: "{start: now}"), "\(policy)/start", "one of"),
        Case(Sample.file(policy: "{restart: maybe}"), "\(policy)/restart", "one of"),
        Case(Sample.file(policy: "{startAlert: {title: t}, join: nobody}"), "\(policy)/join", "one of"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, join: anonymous}"), "\(policy)/join",
            "needs `public: true`"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, join: anonymous}, public: true"), "\(policy)/join",
            "needs `delivery: channel` or `auto`"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, delivery: channel}"), "\(policy)/delivery",
            "needs `public: true`"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, delivery: auto}, public: false"), "\(policy)/delivery",
            "needs `public: true`"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, delivery: push}, public: true"), "\(policy)/delivery",
            "one of token, channel, auto"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, channelStorage: all}"), "\(policy)/channelStorage",
            "mostRecent or none"),
        Case(
            Sample.file(policy: "{startAlert: {title: t}, channelAlerts: loud}"), "\(policy)/channelAlerts",
            "one of broadcast, notification, none"),
        Case(Sample.file(policy: "{startGrase: 1s}"), "\(policy)/startGrase", "did you mean `startGrace`?"),
        Case(Sample.file(policy: "{highWhen: {pointer: status, values: []}}"), "\(policy)/highWhen/pointer", "`/`"),
        Case(Sample.file(policy: "{highWhen: {pointer: /a~2, values: []}}"), "\(policy)/highWhen/pointer", "`~`"),
        Case(Sample.file(policy: "{highWhen: {pointer: /status}}"), "\(policy)/highWhen/values", "missing"),
        Case(
            Sample.file(policy: "{startAlert: {title: '{/name}'}}"), "\(policy)/startAlert/title",
            "the title may be empty"),
        Case(Sample.file(policy: "{startAlert: {title: a, body: '{'}}"), "\(policy)/startAlert/body", "`{` begins"),
        Case(
            Sample.file(policy: "{startStaleAfter: 5m}"), "\(policy)/startStaleAfter", "longer than startWindow (5m)"),
        Case(Sample.file(policy: "{staleAfter: 9s}"), "\(policy)/staleAfter", "at least 10s"),
        Case(Sample.file(policy: "{dismissAfter: 5h}"), "\(policy)/dismissAfter", "at most 4h"),
        Case(
            Sample.file(policy: "{quietHours: {from: 25:00, to: 07:00}}"), "\(policy)/quietHours/from",
            "such as 22:00"),
        Case(Sample.file(policy: "{quietHours: {from: 22:00, to: 7}}"), "\(policy)/quietHours/to", "put it in quotes"),
        Case(Sample.file(policy: "{quietHours: {from: 07:00, to: 07:00}}"), "\(policy)/quietHours/to", "the same as"),
        Case(
            Sample.file(policy: "{quietHours: {from: 22:00, to: 07:00, zone: Berlin}}"), "\(policy)/quietHours/zone",
            "`Berlin` is not a time zone"),
        Case(Sample.file(policy: "{quietHours: {from: 22:00}}"), "\(policy)/quietHours/to", "missing"),
        Case(Sample.file(policy: "{renewal: often}"), "\(policy)/renewal", "expected boolean"),
        Case(Sample.file(policy: "{authority: phone}"), "\(policy)/authority", "one of server, app"),
        Case(Sample.file(policy: "{atCeiling: end}"), "\(policy)/atCeiling", "one of ignore, wait, endOldest"),
        Case(Sample.file(policy: "{ceiling: 0}"), "\(policy)/ceiling", "a number from 1 to 100"),
        Case(Sample.file(policy: "{ceiling: 1.5}"), "\(policy)/ceiling", "expected"),
        Case(Sample.file(policy: "{budgets: {reserve: 91}}"), "\(policy)/budgets/reserve", "from 0 to 90"),
        Case(Sample.file(policy: "{budgets: {startsPerHour: 1}}"), "\(policy)/budgets/startsPerHour", "from 2 to"),
        Case(
            Sample.file(policy: "{budgets: {highPerHour: 300}}"), "\(policy)/budgets/highPerDay",
            "at least highPerHour (300)"),
        Case(Sample.file(policy: "{budgets: {perHour: 3}}"), "\(policy)/budgets/perHour", "unknown field"),
    ])
    func `a type that could not be shown is refused at its place`(_ row: Case) throws { try check(row) }

    @Test func `a type whose states differ by person or by build takes auto, and no channel`() throws {
        let folder = try Folder()
        try folder.write("whsec_" + String(repeating: "A", count: 32), to: "secret")
        try folder.write(FullFile.contract, to: "order.json")
        let provider = "provider: {url: 'https://a.example.com/x', secretFile: secret}"
        let contracts = "contracts: [{file: order.json}, {builds: '<120', file: order.json}]"
        for (line, words) in [(provider, "a provider gives each person"), (contracts, "reaches every build")] {
            func error(_ delivery: String) throws -> ConfigurationError? {
                let policy = "{startAlert: {title: t}, delivery: \(delivery)}"
                let type = Sample.type(policy, more: ", public: true, \(line)")
                return try folder.error(Sample.file(apps: "[\(Sample.app(types: "[\(type)]"))]"))
            }
            let refused = try #require(try error("channel"))
            #expect(refused.pointer == "\(Self.policy)/delivery")
            #expect(refused.problem.hasPrefix("token or auto: ") && refused.problem.contains(words), "\(refused)")
            for delivery in ["token", "auto"] {
                let other = try error(delivery)
                #expect(other == nil, "\(delivery): \(other?.description ?? "")")
            }
        }
    }

    @Test func `a file that is missing, a directory, not UTF-8 or too large is refused`() throws {
        let folder = try Folder()
        func words(_ path: String) -> String {
            do throws(ConfigurationError) {
                _ = try ConfigurationLoader.load(path, environment: [:])
                return ""
            } catch {
                return error.description
            }
        }
        let none = folder.path("none.yaml")
        #expect(
            words(none) == "\(none): the file cannot be read: create it with `islet config reference > "
                + "islet.yaml`, or name another file with --config")
        #expect(words(folder.url.path).hasSuffix(": this is a directory: name the file in it with --config"))
        let bytes = folder.path("bytes.yaml")
        try Data([0x61, 0xFF]).write(to: URL(fileURLWithPath: bytes))
        #expect(words(bytes).hasSuffix(": the file is not UTF-8 text of at most 1 MiB"))
        let large = try folder.write("#" + String(repeating: "x", count: 1 << 20), to: "large.yaml")
        #expect(words(large).hasSuffix(": the file is not UTF-8 text of at most 1 MiB"))
    }

    @Test func `a key given where its file or variable should be named is never quoted`() throws {
        let folder = try Folder()
        let pem = folder.signingKey.pemRepresentation
        let secret = try #require(pem.split(separator: "\n").dropFirst().first)
        let ids = "keyID: ABC123DEFG, teamID: XYZ987MNOP"
        let quoted = "\"\(pem.replacing("\n", with: "\\n"))\""
        let yamls = [
            Sample.file(key: "{keyFile: \(quoted), \(ids)}"), Sample.file(key: "{keyEnvironment: \(quoted), \(ids)}"),
            Sample.file(key: "{keyEnvironment: \"\(secret)\", \(ids)}"),
            // Not YAML, in the line of the key.
            "apps:\n  - apns:\n      sandbox: {keyID: \(secret): [\n",
            "secret: \"\(secret)\n",
        ]
        for yaml in yamls {
            let error = try #require(try folder.error(yaml))
            #expect(!error.description.contains(secret), "\(error.pointer)")
        }
        let error = try #require(
            try folder.error(Sample.file(), ["ISLET_APPS_0_APNS_SANDBOX_KEY_FILE": pem]))
        #expect(!error.description.contains(secret))
        #expect(error.problem == "give the path of the .p8 file, not its text")
    }
}
