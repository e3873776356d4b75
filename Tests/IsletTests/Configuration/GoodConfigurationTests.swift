import APNSClient
import APNSModel
import Crypto
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityProviders
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

struct GoodConfigurationTests {
    @Test func `the least there can be gets the defaults`() throws {
        let folder = try Folder()
        let settings = try folder.load(Sample.file())
        #expect(settings.host == "127.0.0.1" && settings.port == 8080)
        #expect(settings.database.path == folder.path("islet.db"))
        #expect(settings.metrics.isServed && settings.metrics.listener == nil && settings.console)
        guard case .file(let ring, isMade: true) = settings.tokenKeys else {
            Issue.record("the ring is \(settings.tokenKeys)")
            return
        }
        #expect(ring == folder.path("islet.db.keys"))
        #expect(settings.apps.map(\.bundleID.text) == ["com.acme.pizza"])
        #expect(settings.apps.map(\.environments) == [[.sandbox]])
        #expect(settings.keys.map(\.key.keyID) == ["ABC123DEFG"])
        #expect(settings.routes.map(\.endpoint.description) == ["https://api.sandbox.push.apple.com:443"])
        #expect(settings.routes.map(\.trustRoots) == [.system])
        let policy = try #require(settings.apps[0].types["Order"]?.policy)
        #expect(policy.coalescingWindow == .seconds(1) && policy.startGrace == .seconds(15))
        #expect(policy.startAlert == AlertTemplate(PushAlert(title: .text("Your order"))))
    }

    @Test func `contracts by build are in order, the newest apart`() throws {
        let folder = try Folder()
        try FullFile.writeFiles(into: folder)
        let listed = """
            contracts:
                      - {builds: "<120", file: order-contract.json}
                      - file: order-contract.json
                      - {builds: "<9.1", file: order-contract.json}
            """
        let yaml = FullFile.yaml.replacing("contract: order-contract.json", with: listed)
        let settings = try folder.load(
            yaml,
            [
                "APNS_KEY": folder.signingKey.pemRepresentation,
                "PROVIDER_SECRET": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "TOKEN_KEYS": TokenKeyRing.fresh().text,
            ])
        let type = try #require(settings.apps[0].types["Order"])
        #expect(type.contract?.attributesType == "OrderAttributes")
        #expect(type.olderContracts.map(\.before.description) == ["9.1", "120"])
    }

    @Test(arguments: [
        ("[{builds: '<120', file: c.json}]", "one without `builds` is needed"),
        ("[{file: c.json}, {file: c.json}]", "two have no `builds`"),
        ("[{file: c.json}, {builds: '120', file: c.json}]", "is not `<` and a build"),
        ("[{file: c.json}, {builds: '<1.x', file: c.json}]", "is not `<` and a build"),
        ("[{file: c.json}, {builds: '<7', file: c.json}, {builds: '<7.0', file: c.json}]", "is listed twice"),
        ("[{file: missing.json}]", "cannot be read"),
        ("[{file: c.json}]\n        contract: c.json", "give either `contract`"),
    ])
    func `contracts that cannot be told apart are refused`(contracts: String, words: String) throws {
        let folder = try Folder()
        try folder.write(FullFile.contract, to: "c.json")
        let yaml = FullFile.yaml.replacing("contract: order-contract.json", with: "contracts: \(contracts)")
        let error = try #require(
            try folder.error(
                yaml,
                [
                    "APNS_KEY": folder.signingKey.pemRepresentation,
                    "PROVIDER_SECRET": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    "TOKEN_KEYS": TokenKeyRing.fresh().text,
                ]))
        #expect(error.description.contains(words), "\(error)")
    }

    private func expectFront(_ settings: Settings) {
        let limits = settings.limits
        #expect(limits.requestsPerSecond == 500 && limits.requestsPerSecondPerDevice == nil)
        #expect(limits.openRequests == 100 && limits.connections == 200 && limits.connectionsPerAddress == 20)
        #expect(limits.joinsPerMinutePerAddress == 30)
        #expect(!settings.metrics.isServed && settings.metrics.needsKey)
        #expect(settings.metrics.listener?.host == "127.0.0.1" && settings.metrics.listener?.port == 9191)
    }

    @Test func `anybody may join what everybody may see`() throws {
        let type = Sample.type(
            "{startAlert: {title: Kick-off}, join: anonymous, delivery: auto}", more: ", public: true")
        let settings = try Folder().load(
            Sample.file("limits: {joinsPerMinutePerAddress: 'off'}", apps: "[\(Sample.app(types: "[\(type)]"))]"))
        #expect(settings.apps[0].types["Order"]?.policy.join == .anonymous)
        #expect(settings.limits.joinsPerMinutePerAddress == nil)
    }

    @Test func `what a provider computes for each person is not for anybody`() throws {
        let folder = try Folder()
        try FullFile.writeFiles(into: folder)
        let yaml = FullFile.yaml.replacing("join: open", with: "join: anonymous")
            .replacing("activityIDAttribute: /orderId", with: "activityIDAttribute: /orderId\n        public: true")
        let error = try #require(
            try folder.error(
                yaml,
                [
                    "APNS_KEY": folder.signingKey.pemRepresentation,
                    "PROVIDER_SECRET": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                    "TOKEN_KEYS": TokenKeyRing.fresh().text,
                ]))
        #expect(error.pointer == "/apps/0/activities/0/policy/join")
        #expect(error.problem.hasPrefix("audience or open: a provider gives each person a state of their own"))
    }

    @Test func `every key of a full file reaches its setting`() throws {
        let folder = try Folder()
        try FullFile.writeFiles(into: folder)
        let settings = try folder.load(
            FullFile.yaml,
            [
                "APNS_KEY": folder.signingKey.pemRepresentation,
                "PROVIDER_SECRET": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "TOKEN_KEYS": TokenKeyRing.fresh().text,
            ])
        #expect(settings.certificates != nil)
        expectFront(settings)
        #expect(settings.refreshesPerSecond == 7)
        #expect(settings.tracing?.endpoint == "http://127.0.0.1:4318/v1/traces" && settings.tracing?.share == 0.25)
        expectEndpoints(settings)
        #expect(settings.keep.events == .seconds(5 * 86_400))
        #expect(settings.apps[0].types["Order"]?.isProvided == true)
        let view = try #require(settings.apps[0].types["Order"]?.view)
        #expect(view.title?.description == "{/orderId}" && view.subtitle?.description == "{/status|soon}")
        #expect(view.progress?.description == "/progress" && view.countdown?.description == "/eta")
        #expect(view.image?.description == "bicycle")
        #expect(settings.host == "::1" && settings.port == 9090)
        #expect(settings.database.path == folder.path("data/state.db"))
        guard case .given(_, name: "TOKEN_KEYS") = settings.tokenKeys else {
            Issue.record("the ring is \(settings.tokenKeys)")
            return
        }
        #expect(!settings.console)
        #expect(settings.connections.maximumConnections == 4 && settings.connections.maximumQueuedPushes == 5000)
        #expect(settings.connections.idleConnectionLifetime == .seconds(600))
        #expect(settings.keep.history == .seconds(3 * 86_400) && settings.keep.ended == .seconds(14 * 86_400))
        #expect(settings.keep.signedOut == .seconds(2 * 86_400) && settings.keep.silent == .seconds(90 * 86_400))
        #expect(settings.credentialIdleLimit == .seconds(30 * 86_400))
        try expectPeople(settings)
        #expect(settings.apps.map(\.environments) == [[.sandbox, .production]])
        #expect(settings.keys.map(\.environment) == [.sandbox, .production])
        #expect(settings.routes[0].endpoint.description == "https://127.0.0.1:2197")
        #expect(settings.routes[0].trustRoots == .file(folder.path("ca.pem")))
        #expect(settings.routes[1].endpoint == .apple(.production))
        let type = try #require(settings.apps[0].types["Order"])
        #expect(type.attributesType == "OrderAttributes")
        #expect(type.activityIDAttribute == JSONPointer(tokens: ["orderId"]))
        #expect(type.contract?.attributesType == "OrderAttributes")
        let policy = type.policy
        #expect(policy.coalescingWindow == .milliseconds(1500))
        #expect(policy.endAfter == .seconds(6 * 3600))
        #expect(policy.startGrace == .zero && policy.startWindow == .seconds(120))
        #expect(policy.startStaleAfter == .seconds(600) && policy.staleAfter == .seconds(7200))
        #expect(policy.highPriorityInterval == .seconds(30))
        #expect(policy.highWhen?.pointer == JSONPointer(tokens: ["status"]))
        #expect(policy.highWhen?.values == ["ready", 2, true, nil])
        #expect(policy.startAlert?.title == .localized(key: "TITLE", arguments: [Phrase(verbatim: "a")]))
        #expect(policy.startAlert?.body == .text(Phrase(verbatim: "123")))
        #expect(policy.startAlert?.sound == "default")
        #expect(policy.isReusable)
        #expect(policy.start.rawValue == "appOnly" && policy.restart.rawValue == "onAlert")
        #expect(policy.dismissAfter == .seconds(1800) && policy.renewal)
        let quiet = try #require(policy.quietHours)
        #expect(quiet.from.description == "22:00" && quiet.to.description == "07:00")
        #expect(quiet.zone == "Europe/Berlin" && quiet.holdsAlerts)
        #expect(
            policy.join == .open && policy.authority == .app && policy.atCeiling == .endOldest && policy.ceiling == 4)
        let budgets = policy.budgets
        let numbers = [
            budgets.high.perHour, budgets.high.perDay, budgets.high.reserve, budgets.highFrequent.perHour,
            budgets.highFrequent.perDay, budgets.highFrequent.reserve, budgets.start.perHour, budgets.start.perDay,
        ]
        #expect(numbers == [10, 100, 20, 30, 300, 20, 5, 20])
    }

    private func expectEndpoints(_ settings: Settings) {
        #expect(settings.backends.map(\.type) == ["Order"])
        #expect(settings.backends.map(\.target.url) == ["http://127.0.0.1:8090/next-up"])
        #expect(settings.backends.map(\.target.timeout) == [.seconds(5)])
        #expect(settings.backends.map(\.target.allowPrivate) == [true])
        #expect(settings.webhooks.map(\.key.name) == ["backend", "audit"])
        #expect(settings.webhooks.map(\.key.app.text) == ["com.acme.pizza", "com.acme.pizza"])
        #expect(settings.webhooks.map(\.kinds) == [[.dismissed, .tokenDead], nil])
        #expect(
            settings.webhooks.map(\.target.url) == [
                "http://127.0.0.1:8091/events", "https://audit.acme.com/islet",
            ])
        #expect(settings.webhooks.map(\.target.timeout) == [.seconds(3), .seconds(15)])
        #expect(settings.webhooks.map(\.target.allowPrivate) == [true, false])
    }

    private func expectPeople(_ settings: Settings) throws {
        let people = try #require(settings.people[settings.apps[0].bundleID])
        #expect(people.issuers == ["https://id.acme.com"] && people.audience == "pizza")
        #expect(people.algorithms == [.es256, .eddsa] && people.leeway == .seconds(30))
        #expect(people.user == JSONPointer(tokens: ["app", "user"]))
        if case .set(let url, let refresh, let allowPrivate) = people.keys {
            #expect(url == "http://127.0.0.1:9/jwks.json" && refresh == .seconds(300) && allowPrivate)
        } else {
            Issue.record("\(people.keys)")
        }
    }

    @Test(arguments: [
        ("127.0.0.1:0", "127.0.0.1", 0), ("[::1]:0", "::1", 0), ("[::]:65535", "::", 65_535),
        ("localhost:8080", "localhost", 8080), ("0.0.0.0:80", "0.0.0.0", 80),
    ])
    func `an address is a host and a port, an IPv6 address in brackets`(
        _ listen: String, _ host: String, _ port: Int
    )
        throws
    {
        let settings = try Folder().load(Sample.file("listen: '\(listen)'"))
        #expect(settings.host == host && settings.port == port)
    }

    @Test(
        arguments: [
            ("90s", 90), ("5m", 300), ("1h", 3600), ("2d", 172_800), ("30", 30), ("0s", 0), ("'7s'", 7),
        ] as [(String, Int64)])
    func `a duration has a unit or is in seconds`(_ text: String, _ seconds: Int64) throws {
        let settings = try Folder().load(Sample.file(policy: "{startAlert: {title: a}, startGrace: \(text)}"))
        #expect(settings.apps[0].types["Order"]?.policy.startGrace == .seconds(seconds))
    }

    @Test func `an activity of a type may be left running for good`() throws {
        let settings = try Folder().load(Sample.file(policy: "{startAlert: {title: a}, endAfter: 0s}"))
        #expect(settings.apps[0].types["Order"]?.policy.endAfter == nil)
        let usual = try Folder().load(Sample.file(policy: "{startAlert: {title: a}}"))
        #expect(usual.apps[0].types["Order"]?.policy.endAfter == .seconds(12 * 3600))
    }

    @Test func `a type says how states and alerts reach its cards, and by token is the default`() throws {
        func policy(_ more: String) throws -> TypePolicy {
            let settings = try Folder().load(Sample.file(policy: "{startAlert: {title: a}\(more)}, public: true"))
            return try #require(settings.apps[0].types["Order"]?.policy)
        }
        let usual = try policy("")
        #expect(usual.delivery == .token && usual.channelAlerts == .broadcast)
        #expect(usual.channelStorage == MessageStoragePolicy.mostRecent)
        let told = try policy(", delivery: channel, channelStorage: none, channelAlerts: notification")
        #expect(told.delivery == .channel && told.channelAlerts == .notification)
        #expect(told.channelStorage == MessageStoragePolicy.none)
    }

    @Test func `a type that only the app starts needs no alert`() throws {
        let settings = try Folder().load(Sample.file(policy: "{start: appOnly}"))
        #expect(settings.apps[0].types["Order"]?.policy.startAlert == nil)
    }

    @Test func `a database of PostgreSQL is named without its password`() throws {
        let storage = "postgres://islet:secret@db.example.com:5433/shop?sslmode=verify-full"
        let settings = try Folder().load(
            Sample.file("storage: '\(storage)'\ntokenKeys: {environment: RING}"), ["RING": TokenKeyRing.fresh().text])
        #expect(settings.database == .postgres(url: storage))
        let report = ConfigurationReport(settings: settings, variables: [:], files: .machine)
        #expect(report.lines[1] == "stores in    postgres://db.example.com:5433/shop (PostgreSQL)")
        #expect(!report.warnings.joined().contains("secret"))
    }

    @Test(arguments: [
        ("nodes: {listen: '10.0.0.5:8090'}", "http://10.0.0.5:8090"),
        ("nodes: {listen: '[fd00::5]:8090'}", "http://[fd00::5]:8090"),
        ("nodes: {listen: '0.0.0.0:8090', address: 'http://islet-1.internal:8090/'}", "http://islet-1.internal:8090"),
    ])
    func `the address of a node is that of its listener, or the one given`(_ lines: String, _ address: String) throws {
        let settings = try Folder().load(
            Sample.file(
                "storage: 'postgres://db/islet'\ntokenKeys: {environment: RING}\ndurability: twoSafe\n\(lines)"),
            ["RING": TokenKeyRing.fresh().text])
        #expect(settings.nodes?.address == address)
        #expect(settings.nodes?.port == 8090 && settings.needsStandby)
    }

    @Test func `an absolute path is taken as it is`() throws {
        #expect(try Folder().load(Sample.file("storage: sqlite:/data/islet.db")).database.path == "/data/islet.db")
    }

    @Test(
        arguments: [
            ("null", JSONValue.null), ("~", .null), ("", .null), ("true", true), ("false", false), ("12", 12),
            ("-1.5e3", -1500), ("yes", "yes"), ("True", "True"), ("012", "012"), ("0x10", "0x10"), ("1_000", "1_000"),
            ("12:30", "12:30"), ("2026-01-01", "2026-01-01"), (".5", ".5"), ("'12'", "12"), ("\"true\"", "true"),
        ] as [(String, JSONValue)])
    func `a plain word is read as JSON would, all else is text`(_ text: String, _ value: JSONValue) throws {
        #expect(try YAMLText.value(of: "a: \(text)", file: "f") == ["a": value])
    }
}
