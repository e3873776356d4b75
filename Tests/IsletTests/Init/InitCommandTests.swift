import Foundation
import JSONText
import LiveActivityCore
import Testing

@testable import islet

/// `islet init` as a process.
@Suite(.serialized) struct InitCommandTests {
    private static let apple = [
        "init", "--bundle-id", "com.acme.pizza", "--key-file", "key.p8", "--key-id", "ABC123DEFG", "--team-id",
        "XYZ987MNOP", "--environment", "sandbox", "--attributes-type", "OrderAttributes", "--start-alert", "Your order",
    ]

    private func folder(keyMode: Int = 0o600) throws -> Folder {
        let folder = try Folder()
        try FileManager.default.setAttributes([.posixPermissions: keyMode], ofItemAtPath: folder.path("key.p8"))
        return folder
    }

    /// Names in a folder, without those of the test's own runs.
    private func names(_ folder: Folder, _ place: String = ".") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(place))
            .filter { !$0.hasSuffix(".out") && !$0.hasSuffix(".err") }.sorted()
    }

    private func expectNothing(_ run: Execution, _ words: String, in folder: Folder, code: Int32 = 1) throws {
        #expect(run.code == code && run.output.isEmpty)
        #expect(run.refusals.count == 1 && run.refusals.first?.contains(words) == true, "it says: \(run.errors)")
        let made = try names(folder).filter { $0.hasPrefix("islet") || ["simulator", "token-keys.json"].contains($0) }
        #expect(made == [])
    }

    @Test func `flags alone make a configuration, a database and a key, and it says what to do next`() async throws {
        let folder = try folder()
        let run = try await Execution.of(Self.apple, in: folder)
        #expect(run.code == 0, "\(run.errors)")
        let key = try #require(run.output.wholeMatch(of: /(islet_([0-9A-Za-z]{12})_[-_0-9A-Za-z]{43})\n/))
        let database = folder.path("islet.db")
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 3 && lines[0] == "islet.yaml: com.acme.pizza, Order, APNs sandbox", "\(run.errors)")
        #expect(lines[1].hasSuffix("/islet.db: has a new API key, of the scope backend, which is shown this once:"))
        #expect(lines[2] == "next: islet doctor && islet serve")
        #expect(try names(folder).filter { !$0.hasPrefix("islet.db") } == ["islet.yaml", "key.p8"])
        let mode = try #require(FileLook.machine.mode(folder.path("islet.yaml")))
        #expect(mode & 0o137 == 0 && FileLook.machine.mode(database) == 0o600)
        let check = try await Execution.of(["config", "check"], in: folder)
        #expect(check.code == 0, "\(check)")
        let keys = try await Execution.of(["keys", "list"], in: folder)
        #expect(keys.output.contains("\(key.2)  backend  com.acme.pizza  made by islet init"))
    }

    @Test func `a configuration that is there stays as it is`() async throws {
        let folder = try folder()
        try folder.write("mine", to: "islet.yaml")
        let run = try await Execution.of(Self.apple, in: folder)
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(
            run.refusals == ["islet.yaml is there already and stays as it is: remove it, or name another with --config"]
        )
        #expect(try String(contentsOfFile: folder.path("islet.yaml"), encoding: .utf8) == "mine")
        #expect(try names(folder) == ["islet.yaml", "key.p8"])
    }

    @Test func `a key for a database that is there is added to its keys`() async throws {
        let folder = try folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        #expect(try await Execution.of(["keys", "create", "--app", "com.acme.pizza"], in: folder).code == 0)
        try FileManager.default.removeItem(atPath: folder.path("islet.yaml"))
        let run = try await Execution.of(Self.apple + ["--json"], in: folder)
        #expect(run.code == 0 && run.errors.isEmpty)
        let made = try #require(try JSONValue(parsing: run.output).object)
        #expect(made["config"] == "islet.yaml" && made["environment"] == "sandbox" && made["isSimulated"] == false)
        #expect(made["key"]?.object?["scope"] == "backend" && made["key"]?.object?["key"]?.string?.count == 62)
        #expect(made["next"] == ["islet doctor", "islet serve"] && made["warnings"] == [])
        let keys = try await Execution.of(["keys", "list", "--json"], in: folder)
        #expect(try JSONValue(parsing: keys.output).array?.count == 2)
    }

    @Test func `a key file that others may read is warned of`() async throws {
        let run = try await Execution.of(Self.apple, in: try folder(keyMode: 0o644))
        let warning = "warning: islet.yaml: /apps/0/apns/sandbox/keyFile: others may read"
        #expect(run.code == 0 && run.errors.hasPrefix(warning), "\(run)")
    }

    // MARK: - What cannot be made

    @Test func `a file that is no key leaves nothing behind`() async throws {
        let folder = try folder()
        for (text, words) in [
            ("", "key.p8: this is not a .p8 file"), ("-----BEGIN CERTIFICATE-----", "key.p8: this is a certificate"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "not a private key on the curve P-256"),
            (String(repeating: "x", count: 100_000), "key.p8: this is not a .p8 file"),
        ] {
            try folder.write(text, to: "key.p8")
            try expectNothing(try await Execution.of(Self.apple, in: folder), words, in: folder)
        }
        try FileManager.default.removeItem(atPath: folder.path("key.p8"))
        try expectNothing(try await Execution.of(Self.apple, in: folder), "key.p8 cannot be read", in: folder)
    }

    @Test(arguments: [
        (["--team-id", "short"], "a team id has 10 letters and digits"),
        (["--storage", "sqlite:none/islet.db"], "no API key could be made: the database cannot be opened"),
        (["--storage", "sqlite:key.p8"], "key.p8 is not a SQLite database"),
        (["--storage", "mysql://x"], "islet.yaml: /storage: neither sqlite:path nor a URL"),
        (["--storage", "postgres://127.0.0.1:1/islet"], "no API key could be made"),
        (["--config", "none/islet.yaml"], "No such file or directory"),
        (["--attributes-type", ""], "/apps/0/activities/0"),
    ])
    func `what cannot be written or opened leaves nothing behind`(_ more: [String], _ words: String) async throws {
        let folder = try folder()
        // Of an option that is given twice the last one counts.
        try expectNothing(try await Execution.of(Self.apple + more, in: folder), words, in: folder)
        // The lock is of the file that was taken for a database.
        #expect(try names(folder).filter { $0 != "key.p8.lock" } == ["key.p8"])
    }

    @Test func `a variable that changes the app is seen before a key is made`() async throws {
        let folder = try folder()
        let run = try await Execution.of(
            Self.apple, in: folder, environment: ["ISLET_APPS_0_BUNDLE_ID": "com.acme.cake"])
        try expectNothing(run, "`com.acme.pizza` is not an app of islet.yaml: it has com.acme.cake", in: folder)
    }

    @Test(arguments: [
        (
            [],
            "give --bundle-id, --key-file, --team-id, --environment, --attributes-type, --start-alert or --app-only "
                + "(standard input is no terminal, so nothing can be asked); without an Apple account: --simulator, or "
                + "`islet serve --dev`"
        ),
        (["--simulator", "--team-id", "XYZ987MNOP"], "--simulator has a key of its own"),
        (["--app-only", "--start-alert", "a"], "--app-only starts nothing by push"),
        (["--start-alert-body", "a"], "--start-alert-body goes with --start-alert"),
        (["--bundle-id", "no id"], "`no id` is not a bundle id such as com.acme.pizza"),
        (["--listen", "nowhere"], "--listen: `nowhere` is not host:port"),
        (["--storage", "postgres://a:b@c/d"], "--storage without its password"),
        (["--simulator", "--type", "A"], "give --attributes-type, --start-alert or --app-only"),
    ])
    func `a wrong command line is refused, and says everything that is missing`(
        _ arguments: [String], _ words: String
    ) async throws {
        let folder = try folder()
        try expectNothing(try await Execution.of(["init"] + arguments, in: folder), words, in: folder, code: 64)
    }

    // MARK: - On a terminal

    private static let terminalMaker = "/usr/bin/script"

    // `script` of util-linux runs a command on a terminal of its own.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: terminalMaker), "there is no \(terminalMaker)"))
    func `on a terminal three questions are enough`() async throws {
        let folder = try folder()
        let answers = #"com.acme.pizza\nkey.p8 ABC123DEFG XYZ987MNOP sandbox\nOrderAttributes Your order\n"#
        let run = try await Execution.of(
            ["-c", "printf '\(answers)' | timeout 60 \(Self.terminalMaker) -qec '\"$ISLET\" init' /dev/null"],
            in: folder, environment: ["ISLET": try Execution.executable.path],
            executable: URL(fileURLWithPath: "/bin/sh"))
        #expect(run.code == 0, "\(run)")
        for part in ["1 of 3: ", "2 of 3: ", "3 of 3: ", "next: islet doctor && islet serve"] {
            #expect(run.output.contains(part), "\(run.output)")
        }
        let settings = try ConfigurationLoader.load(folder.path("islet.yaml"), environment: [:])
        #expect(settings.apps[0].types["Order"]?.attributesType == "OrderAttributes")
    }

    // MARK: - With a simulator

    @Test(.timeLimit(.minutes(3)))
    func `without an Apple account: init, a simulator, a server, and an order on a phone`() async throws {
        let folder = try folder()
        let made = try await Execution.of(["init", "--simulator", "--json"], in: folder)
        #expect(made.code == 0 && made.errors.isEmpty, "\(made)")
        let report = try #require(try JSONValue(parsing: made.output).object)
        let key = try #require(report["key"]?.object?["key"]?.string)
        #expect(report["next"] == ["islet simulate", "islet serve"] && report["isSimulated"] == true)
        #expect(try names(folder, "simulator") == ["AuthKey_SIMULATOR1.p8", "api-key"])
        // Root's file belongs to the group of its folder, which may read it.
        let mode = try #require(FileLook.machine.mode(folder.path("simulator/api-key")))
        #expect(mode & 0o137 == 0)
        let address = "127.0.0.1:\(try DemoStage.freePort())"
        let simulator = try ChildProcess(
            "simulator", executable: Execution.executable,
            arguments: [
                "simulate", "--port", "0", "--control-port", "0", "--directory", folder.path("simulator"), "--backend",
                "http://\(address)",
            ], log: folder.url.appendingPathComponent("simulator.log"))
        do {
            let ports = try JSONValue(parsing: try await simulator.firstLine(within: .seconds(30))).object ?? [:]
            // Standard ports may be taken by a test beside this one.
            let server = try ChildProcess(
                "server", executable: Execution.executable,
                arguments: ["serve", "--config", folder.path("islet.yaml")],
                environment: [
                    "ISLET_LISTEN": address, "ISLET_APPS_0_APNS_SANDBOX_ENDPOINT": ports["apns"]?.string ?? "",
                    "ISLET_APPS_0_APNS_SANDBOX_CHANNEL_ENDPOINT": ports["channels"]?.string ?? "",
                ], log: folder.url.appendingPathComponent("server.log"))
            do {
                try await server.isUp(within: .seconds(30))
                try await order(JSONCaller("http://\(address)") { key }, JSONCaller(ports["control"]?.string ?? ""))
                let health = try await Execution.of(["health", "--server", "http://\(address)"], in: folder)
                #expect(health.code == 0 && health.output == "http://\(address) is ready\n", "\(health)")
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    /// Sets an order, and waits until a phone shows it.
    private func order(_ islet: JSONCaller, _ control: JSONCaller) async throws {
        try await control.call(
            .POST, "/v1/phones",
            [
                "id": "ada-iphone", "user": "ada", "bundleID": "com.example.pizza", "appState": "killed",
                "activityTypes": ["OrderTrackingAttributes"],
            ])
        try await islet.call(
            .PUT, "/v1/activities/order-1",
            [
                "type": "OrderTracking", "attributes": ["orderId": "order-1", "restaurant": "Da Mario"],
                "state": ["status": "preparing", "progress": 0.2, "eta": 25], "audience": ["users": ["ada"]],
            ])
        try await Waiting.until("the phone shows the order", within: .seconds(60)) {
            let phone = try await control.call(.GET, "/v1/phones/ada-iphone").object
            return phone?["lockScreen"]?.object?["cards"]?.array?.count == 1
        }
    }
}
