import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

@testable import islet

struct DiagnosisTests {
    private static let now = UnixTime(seconds: 1_795_271_520)

    private static func route(_ change: (inout DoctorFacts.RouteFacts) -> Void = { _ in }) -> DoctorFacts.RouteFacts {
        var route = DoctorFacts.RouteFacts(
            app: BundleID("com.acme.pizza").unsafelyUnwrapped, environment: .sandbox, key: "key K of team T",
            endpoint: "https://push:443")
        var probe = EndpointProbe.Report()
        probe.address = "192.0.2.1"
        probe.applicationProtocol = "h2"
        probe.certificateEndsAt = now + .seconds(100 * 86_400)
        route.probe = probe
        route.push = .success(PushAnswer(status: 400, reason: .known(.badDeviceToken)))
        route.skew = .seconds(1)
        route.usesChannels = true
        route.channels = .success(3)
        change(&route)
        return route
    }

    private static func facts(_ change: (inout DoctorFacts) -> Void = { _ in }) -> DoctorFacts {
        var facts = DoctorFacts(configuration: .init(file: "islet.yaml"), clock: .init(wall: now))
        var look = DatabaseInspection()
        look.exists = true
        look.folderIsWritable = true
        look.integrity = .sound
        look.mode = 0o600
        look.freeBytes = 10 << 30
        facts.database = .init(path: "islet.db", look: .file(look))
        facts.routes = [route()]
        facts.contracts = [.init(app: facts.routes[0].app, type: "Order", looked: 7)]
        facts.certificateEndsAt = now + .seconds(100 * 86_400)
        facts.addresses = [address(.people), address(.provider), address(.webhook)]
        change(&facts)
        return facts
    }

    private static func address(
        _ kind: DoctorFacts.AddressFacts.Kind, _ outcome: DoctorFacts.AddressFacts.Outcome? = .good(nil)
    ) -> DoctorFacts.AddressFacts {
        DoctorFacts.AddressFacts(
            kind: kind, subject: "com.acme.pizza backend", origin: "https://acme.example", outcome: outcome)
    }

    /// The inputs belong to cases of the table below, so that every reported finding has been tested.
    @Test func `every finding has a row in docs operating md, in order, and what failed a fix`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/operating/doctor.md"), encoding: .utf8)
        #expect(text.contains("\n\n" + Finding.ID.table + "\n"), "docs/operating/doctor.md needs:\n\(Finding.ID.table)")
        #expect(Set(Finding.ID.entries.keys) == Set(Finding.ID.allCases))
        for id in Finding.ID.allCases {
            #expect(id.rawValue.hasPrefix(id.entry.check.rawValue + "-"), "\(id)")
            #expect(id.rawValue.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) != nil, "\(id)")
            #expect([.warning, .failed].contains(id.entry.outcome) == (id.entry.fix != nil), "\(id)")
        }
    }

    @Test func `where nothing is wrong every check is ok, in order`() {
        let findings = Diagnosis.findings(Self.facts())
        #expect(findings.map(\.check) == Finding.Check.allCases.filter { !Finding.Check.ofProjects.contains($0) })
        #expect(findings.allSatisfy { $0.outcome == .ok && $0.fix == nil })
    }

    @Test func `offline, what needs the network is skipped, and nothing else`() {
        let findings = Diagnosis.findings(
            Self.facts {
                $0.isOffline = true
                $0.routes = [Self.route { $0.skew = nil }]
                for index in $0.addresses.indices { $0.addresses[index].outcome = nil }
            })
        #expect(findings.map(\.check) == Finding.Check.allCases.filter { !Finding.Check.ofProjects.contains($0) })
        #expect(
            findings.filter { $0.outcome == .skipped }.map(\.check) == [
                .clock, .name, .connection, .push, .channel, .people, .provider, .webhook,
            ])
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let check: Finding.Check
        let outcome: Finding.Outcome
        let words: String
        let facts: DoctorFacts
        var testDescription: String { "\(check) \(outcome): \(words)" }

        init(
            _ check: Finding.Check, _ outcome: Finding.Outcome, _ words: String, _ change: (inout DoctorFacts) -> Void
        ) {
            (self.check, self.outcome, self.words) = (check, outcome, words)
            facts = DiagnosisTests.facts(change)
        }

        /// Makes the case of an answer of APNs.
        init(_ outcome: Finding.Outcome, _ words: String, _ status: Int, _ reason: String?) {
            self.init(.push, outcome, words) { facts in
                let answer = PushAnswer(status: status, reason: reason.map { APNSReason($0) })
                facts.routes = [route { $0.push = .success(answer) }]
            }
        }
    }

    @Test(arguments: [
        Case(.configuration, .failed, "f:1: /listen: no") { $0.configuration.problems = ["f:1: /listen: no"] },
        Case(.configuration, .warning, "unwise") { $0.configuration.warnings = ["unwise"] },
        Case(.database, .ok, "created at the first start") {
            $0.database?.inspection = DatabaseInspection()
            $0.database?.inspection.folderIsWritable = true
        },
        Case(.database, .failed, "cannot be written") { $0.database?.inspection.folderIsWritable = false },
        Case(.database, .failed, "MB free") { $0.database?.inspection.freeBytes = 1 << 20 },
        Case(.database, .warning, "MB free") { $0.database?.inspection.freeBytes = 512 << 20 },
        Case(.database, .failed, "broken") { $0.database?.inspection.problem = "broken" },
        Case(.database, .failed, "damaged (page 7)") { $0.database?.inspection.integrity = .damaged("page 7") },
        Case(.database, .failed, "lack `s-1`") {
            $0.database?.inspection.tokenKeys = .missingKeys(["s-1"], place: "islet.db.keys")
        },
        Case(.database, .failed, "newer version") { $0.database?.inspection.schema = .newer },
        Case(.database, .failed, "not a database of islet") { $0.database?.inspection.schema = .foreign },
        Case(.database, .warning, "older version") { $0.database?.inspection.schema = .older },
        Case(.database, .warning, "mode 0644") { $0.database?.inspection.mode = 0o644 },
        Case(.database, .warning, "its log (-wal)") { $0.database?.inspection.logBytes = 1 << 30 },
        Case(.database, .ok, "PostgreSQL 15.1, in use by a server") {
            $0.database?.server = server {
                ($0.hasTables, $0.isServed) = (true, true)
                $0.clockAhead = .seconds(-1)
            }
        },
        Case(.database, .failed, "`synchronous_standby_names` is empty") {
            $0.database?.server = server { $0.standby = .none }
            $0.database?.needsStandby = true
        },
        Case(.database, .ok, "PostgreSQL 15.1") { $0.database?.server = server { $0.standby = .none } },
        Case(.database, .failed, "more standbys than are connected") {
            $0.database?.server = server { $0.standby = .away }
        },
        Case(.database, .ok, "PostgreSQL 15.1, with a standby") {
            $0.database?.server = server { $0.standby = .connected }
        },
        Case(.database, .warning, "answers after 40 ms") {
            $0.database?.server = server { $0.roundTrip = .milliseconds(40) }
        },
        Case(.database, .failed, "its rows are in postgres://db/islet since 2027") {
            $0.database?.inspection.moved = MoveMark(
                to: "postgres://db/islet", at: UnixTime(seconds: 1_800_000_000), isComplete: true)
        },
        Case(.database, .ok, "its tables are made at the first start") { $0.database?.server = server { _ in } },
        Case(.database, .failed, "Connection refused") {
            $0.database?.server = server { $0.problem = "Connection refused" }
        },
        Case(.database, .failed, "`fsync` is off") { $0.database?.server = server { $0.unsafeSettings = ["fsync"] } },
        Case(.database, .warning, "its clock is 10 s ahead of this machine's") {
            $0.database?.server = server { $0.clockAhead = .seconds(10) }
        },
        Case(.database, .failed, "lack `s-1`") {
            $0.database?.server = server { $0.tokenKeys = .missingKeys(["s-1"], place: "islet.keys") }
        },
        Case(
            .contract, .warning,
            "2 of 9 checked activities no longer fit the contract, for example `a`: /eta: an "
                + "integer expected"
        ) {
            $0.contracts = [
                .init(
                    app: $0.routes[0].app, type: "Order", looked: 9, unfit: 2,
                    example: "`a`: /eta: an integer expected")
            ]
        },
        Case(.contract, .skipped, "cannot be opened") { $0.contracts = nil },
        Case(.contract, .skipped, "only 3 activities of this type") {
            $0.contracts = [.init(app: $0.routes[0].app, type: "Order", looked: 3, isCut: true)]
        },
        Case(.certificate, .warning, "valid for 3 more days") {
            $0.certificateEndsAt = now + .seconds(3 * 86_400 + 60)
        },
        Case(.certificate, .failed, "expired on") { $0.certificateEndsAt = now },
        Case(.people, .failed, "no JSON object") { $0.addresses = [address(.people, .unreachable("no JSON object"))] },
        Case(.provider, .failed, "is private") { $0.addresses = [address(.provider, .place("is private"))] },
        Case(.provider, .failed, "no connection") {
            $0.addresses = [address(.provider, .unreachable("no connection"))]
        },
        Case(.webhook, .failed, "is private") { $0.addresses = [address(.webhook, .place("is private"))] },
        Case(.webhook, .failed, "no connection") { $0.addresses = [address(.webhook, .unreachable("no connection"))] },
        Case(.key, .failed, "no key") { $0.routes = [route { $0.signingProblem = "no key" }] },
        Case(.clock, .failed, "monotonic") { $0.clock.monotonicAdvances = false },
        Case(.clock, .warning, "contained a date") { $0.routes = [route { $0.skew = nil }] },
        Case(.clock, .warning, "30s ahead") { $0.routes = [route { $0.skew = .seconds(30) }] },
        Case(.clock, .failed, "10m behind") { $0.routes = [route(), route { $0.skew = .seconds(-600) }] },
        Case(.name, .failed, "has no address") {
            $0.routes = [route { $0.probe?.failure = .init(.name, "push has no address") }]
        },
        Case(.connection, .failed, "refused") {
            $0.routes = [route { $0.probe?.failure = .init(.connection, "refused") }]
        },
        Case(.connection, .failed, "not trusted") {
            $0.routes = [route { $0.probe?.failure = .init(.security, "not trusted") }]
        },
        Case(.connection, .failed, "does not speak HTTP/2") {
            $0.routes = [route { $0.probe?.applicationProtocol = "http/1.1" }]
        },
        Case(.connection, .warning, "valid for 3 more days") {
            $0.routes = [route { $0.probe?.certificateEndsAt = now + .seconds(3 * 86_400 + 60) }]
        },
        Case(.channel, .ok, "3 of 10,000") { $0.routes = [route { $0.channels = .success(3) }] },
        Case(.channel, .warning, "8000 of 10,000") { $0.routes = [route { $0.channels = .success(8000) }] },
        Case(.channel, .skipped, "no connection") { $0.routes = [route { $0.channels = nil }] },
        Case(.channel, .failed, "FeatureNotEnabled") {
            $0.routes = [
                route {
                    $0.channels = .failure(
                        BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), "no"))
                }
            ]
        },
        Case(.channel, .failed, "403") {
            $0.routes = [
                route {
                    $0.channels = .failure(BroadcastError(.refused(status: 403, reason: .known(.forbidden)), "no"))
                }
            ]
        },
        Case(.channel, .failed, "no answer") {
            $0.routes = [route { $0.channels = .failure(BroadcastError(.cannotConnect, "no answer")) }]
        },
        Case(.push, .skipped, "no connection") { $0.routes = [route { $0.push = nil }] },
        Case(.push, .failed, "no answer: unknownFate") {
            $0.routes = [route { $0.push = .failure(PushFailure(.unknownFate, "lost")) }]
        },
        Case(.ok, "accepts key K of team T", 400, "BadDeviceToken"),
        Case(.ok, "accepts key K of team T", 410, "Unregistered"),
        Case(.failed, "does not accept the signature", 403, "InvalidProviderToken"),
        Case(.failed, "is not for sandbox", 403, "BadEnvironmentKeyInToken"),
        Case(.failed, "provider token signed just now has expired", 403, "ExpiredProviderToken"),
        Case(.failed, "may not push to the Live Activities of com.acme.pizza", 400, "TopicDisallowed"),
        Case(.failed, "denied access to key K of team T", 403, "MissingProviderToken"),
        Case(.failed, "refused the request (403)", 403, nil),
        Case(.failed, "refused the request", 400, "BadPriority"),
        Case(.warning, "the endpoint is not APNs", 200, nil),
        Case(.warning, "with a temporary error", 503, "ServiceUnavailable"),
        Case(.warning, "with a temporary error", 429, "TooManyRequests"),
    ])
    func `each thing that is broken gives its finding`(_ row: Case) throws {
        let findings = Diagnosis.findings(row.facts).filter { $0.check == row.check && $0.outcome == row.outcome }
        let finding = try #require(findings.first, "\(Diagnosis.findings(row.facts))")
        #expect((finding.detail + (finding.fix ?? "")).contains(row.words), "\(finding)")
        if row.outcome == .failed { #expect(finding.fix != nil) }
    }

    @Test func `one endpoint of several keys is looked at once`() {
        let findings = Diagnosis.findings(Self.facts { $0.routes = [Self.route(), Self.route()] })
        #expect(findings.filter { $0.check == .name }.count == 1 && findings.filter { $0.check == .push }.count == 2)
    }

    @Test func `text has a line for each finding and its advice below, JSON says the same`() throws {
        let findings = [
            Finding(.configurationGood, "islet.yaml"), Finding(.clockUnknown, "late", fix: "NTP"),
            Finding(.pushRefused, "no", fix: "yes"),
        ]
        #expect(
            FindingReport.text(findings)
                == "ok       configuration  islet.yaml\nwarning  clock          late\n         -> NTP\n"
                + "failed   push           no\n         -> yes\n")
        let json = try JSONValue(parsing: FindingReport.json(findings)).object
        #expect(json?["outcome"] == "failed")
        let list = try #require(json?["findings"]?.array)
        #expect(list.count == 3 && list[0].object?["fix"] == nil)
        #expect(
            list[1] == [
                "id": "clock-unknown", "check": "clock", "outcome": "warning", "detail": "late", "fix": "NTP",
            ])
        for (index, worst) in ["ok", "warning"].enumerated() {
            let part = try JSONValue(parsing: FindingReport.json(Array(findings.prefix(index + 1)))).object
            #expect(part?["outcome"] == .string(worst))
        }
    }
}

extension DoctorFacts.DatabaseFacts {
    /// The facts of a file.
    fileprivate var inspection: DatabaseInspection {
        get { if case .file(let inspection) = look { inspection } else { DatabaseInspection() } }
        set { look = .file(newValue) }
    }

    /// The facts of a server.
    fileprivate var server: DatabaseServerLook {
        get { if case .server(let look) = look { look } else { DatabaseServerLook() } }
        set { look = .server(newValue) }
    }
}

private func server(_ change: (inout DatabaseServerLook) -> Void) -> DatabaseServerLook {
    var look = DatabaseServerLook()
    look.version = "PostgreSQL 15.1"
    change(&look)
    return look
}
