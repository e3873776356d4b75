import Foundation
import HTTP2TestServer
import Testing

@testable import islet

struct ReportTests {
    private func report(
        _ yaml: String, modes: [String: Int] = [:], isWritable: Bool = true, isRingApart: Bool = true
    ) throws -> ConfigurationReport {
        let folder = try Folder()
        let environment = isRingApart ? ["ISLET_TOKEN_KEYS_FILE": try folder.ringApart()] : [:]
        let examination = ConfigurationLoader.examine(
            try folder.write(yaml, to: "islet.yaml"), environment: environment)
        return ConfigurationReport(
            settings: try #require(examination.settings), variables: examination.variables,
            files: FileLook(
                mode: { modes[URL(fileURLWithPath: $0).lastPathComponent] }, folderIsWritable: { _ in isWritable }))
    }

    @Test func `a configuration without fault has no warning, wherever on this machine it listens`() throws {
        for host in ["127.0.0.1", "'[::1]", "localhost", "127.1.2.3"] {
            let listen = host.hasPrefix("'") ? "listen: \(host):8080'" : "listen: \(host):8080"
            #expect(try report(Sample.file(listen), modes: ["key.p8": 0o600, "islet.db": 0o600]).warnings.isEmpty)
        }
    }

    @Test(arguments: ["0.0.0.0", "'[::]", "192.0.2.7", "islet.example.com", "127.example.com"])
    func `listening beyond this machine without TLS is unwise`(_ host: String) throws {
        let listen = host.hasPrefix("'") ? "listen: \(host):8080'" : "listen: \(host):8080"
        let warnings = try report(Sample.file(listen)).warnings
        #expect(warnings.count == 1 && warnings[0].hasPrefix("/listen: other machines reach the API over plain HTTP"))
    }

    @Test func `with TLS other machines may reach it`() throws {
        let folder = try Folder()
        let identity = try TestAuthority().makeIdentity()
        try folder.write(identity.certificate, to: "a.crt")
        try folder.write(identity.key, to: "a.key")
        let yaml = Sample.file("listen: 0.0.0.0:8443\ntls: {certificate: a.crt, key: a.key}")
        let examination = ConfigurationLoader.examine(
            try folder.write(yaml, to: "islet.yaml"), environment: ["ISLET_TOKEN_KEYS_FILE": try folder.ringApart()])
        let report = ConfigurationReport(
            settings: try #require(examination.settings), variables: examination.variables,
            files: FileLook(mode: { _ in 0o600 }, folderIsWritable: { _ in true }))
        #expect(report.warnings.isEmpty)
        #expect(report.lines.contains { $0.contains("https://0.0.0.0:8443 (reachable from other machines)") })
    }

    /// A copy of the folder contains the keys that open the tokens.
    @Test func `a ring in the database's folder is named, with what that means for copies`() throws {
        let warnings = try report(Sample.file(), isRingApart: false).warnings
        #expect(warnings.count == 1)
        #expect(warnings[0].hasPrefix("/tokenKeys: the ring ") && warnings[0].contains("islet.db.keys lies in"))
        #expect(warnings[0].contains("a copy of that folder") && warnings[0].contains("`islet backup`"))
        #expect(try report(Sample.file("storage: sqlite:apart/islet.db")).warnings.count == 1)
        #expect(try report(Sample.file("storage: sqlite:elsewhere/islet.db")).warnings.isEmpty)
    }

    @Test func `a key or a database that others may read, and a folder that cannot be written, are named`() throws {
        let warnings = try report(Sample.file(), modes: ["key.p8": 0o640, "islet.db": 0o604], isWritable: false)
            .warnings
        #expect(warnings.count == 3)
        #expect(warnings.contains { $0.hasPrefix("/apps/0/apns/sandbox/keyFile: ") && $0.contains("(mode 0640)") })
        #expect(warnings.contains { $0.hasPrefix("/storage: others may read") && $0.contains("(mode 0604)") })
        #expect(warnings.contains { $0.hasPrefix("/storage: the folder of") })
    }

    @Test(arguments: [
        ("highWhen: {pointer: /a, values: []}", "highWhen has no values"),
        ("highPriorityInterval: 8h", "only alerts update a card at high priority"),
        ("startWindow: 5s", "never gets the card"),
    ])
    func `a policy that never does what it is for is named`(_ policy: String, _ words: String) throws {
        let warnings = try report(Sample.file(policy: "{startAlert: {title: a}, \(policy)}")).warnings
        #expect(warnings.count == 1 && warnings[0].contains("type Order: ") && warnings[0].contains(words))
    }

    @Test func `it says in words what holds, defaults included`() throws {
        let lines = try report(Sample.file()).lines.joined(separator: "\n")
        for words in [
            "http://127.0.0.1:8080 (reachable only from this machine)", "islet.db (SQLite, made at the first start)",
            "app com.acme.pizza", "sandbox: key ABC123DEFG of team XYZ987MNOP, a P-256 key from ",
            "pushes to https://api.sandbox.push.apple.com:443, with the system's trust roots",
            "type Order: the app's OrderAttributes", "started by push where the phone can with \"Your order\"",
            "waits 15s", "is kept 5m", "stale after 15m", "within 1s go out together",
            "(no highWhen). At most one per 1m, not counting starts and alerts",
            "has no stale date", "stays away; an ended activity must be reopened",
        ] {
            #expect(lines.contains(words), "\(words)")
        }
    }

    @Test func `every problem is found, with its line`() throws {
        let folder = try Folder()
        let path = try folder.write(
            """
            lisen: x
            storage: mysql://x
            apps:
              - bundleID: "no id"
                apns:
                  sandbox: {keyFile: none.p8, teamID: XYZ987MNOP}
                activities:
                  - type: a
                    attributesType: A
                    policy:
                      coalescingWindow: 0s
                      startGrace: soon
                  - {type: b, attributesType: B, policy: {startAlert: {title: t}}}
                  - {type: b, attributesType: B, policy: {startAlert: {title: t}}}
            """, to: "islet.yaml")
        let examination = ConfigurationLoader.examine(path, environment: ["ISLET_LISTEN": "nowhere"])
        #expect(examination.settings == nil)
        let lines = examination.problems.map { ConfigurationCheck.words($0, text: examination.text, file: path) }
            .map { $0.replacing(path, with: "F") }
        let starts = [
            "F:12: /apps/0/activities/0/policy/startGrace: ", "F:1: /lisen: unknown field; did you mean `listen`?",
            "ISLET_LISTEN: /listen: ", "F:2: /storage: ", "F:4: /apps/0/bundleID: ",
            "F:6: /apps/0/apns/sandbox/keyID: missing", "F:6: /apps/0/apns/sandbox/keyFile: ",
            "F:11: /apps/0/activities/0/policy/coalescingWindow: ", "F:10: /apps/0/activities/0/policy/startAlert: ",
            "F:14: /apps/0/activities/2/type: `b` is configured twice",
        ]
        for start in starts { #expect(lines.contains { $0.hasPrefix(start) }, "\(start) in \(lines)") }
        #expect(lines.count == starts.count, "\(lines)")
    }
}
