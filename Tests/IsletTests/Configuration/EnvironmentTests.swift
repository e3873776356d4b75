import APNSClient
import APNSModel
import Crypto
import EmbeddedIslet
import JSONText
import LiveActivityCore
import Testing

@testable import islet

struct EnvironmentTests {
    @Test(arguments: EnvironmentNames.all) func `every key has a variable, and the variable names the key`(
        _ pointer: JSONPointer
    ) throws {
        let name = EnvironmentNames.name(of: pointer)
        #expect(name.allSatisfy { $0 == "_" || $0.isASCII && ($0.isUppercase || $0.isNumber) })
        let found = try #require(EnvironmentNames.key(of: name))
        #expect(found.pointer == pointer)
        #expect(EnvironmentNames.key(of: name + "_") == nil)
        #expect(EnvironmentNames.key(of: name + "_X") == nil)
        #expect(EnvironmentNames.key(of: "X_" + name) == nil)
    }

    /// `metrics` was a single word before it was a group. Old files and variables keep their meaning.
    @Test(
        arguments: [
            ("", [:], true, false), ("metrics: false", [:], false, false), ("metrics: true", [:], true, false),
            ("", ["ISLET_METRICS": "false"], false, false), ("metrics: false", ["ISLET_METRICS": "true"], true, false),
            ("metrics: false", ["ISLET_METRICS_LISTEN": "127.0.0.1:9"], false, true),
            ("metrics: {listen: \"127.0.0.1:9\"}", ["ISLET_METRICS": "false"], false, true),
            ("metrics: {listen: \"127.0.0.1:9\"}", [:], true, true),
        ] as [(String, [String: String], Bool, Bool)])
    func `metrics are a word or a group`(
        yaml: String, environment: [String: String], isServed: Bool, hasListener: Bool
    ) throws {
        let metrics = try Folder().load(Sample.file(yaml), environment).metrics
        #expect(metrics.isServed == isServed && (metrics.listener != nil) == hasListener)
    }

    @Test func `no two keys share a variable`() {
        let names = EnvironmentNames.all.map(EnvironmentNames.name)
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: [
        ("LISTEN", "/listen"), ("STORAGE", "/storage"), ("APPS_0_BUNDLE_ID", "/apps/0/bundleID"),
        ("APPS_12_APNS_PRODUCTION_KEY_ID", "/apps/12/apns/production/keyID"),
        ("APPS_0_APNS_SANDBOX_TEAM_ID", "/apps/0/apns/sandbox/teamID"),
        ("APPS_0_ACTIVITIES_3_ACTIVITY_ID_ATTRIBUTE", "/apps/0/activities/3/activityIDAttribute"),
        ("APPS_0_ACTIVITIES_0_POLICY_START", "/apps/0/activities/0/policy/start"),
        ("APPS_0_ACTIVITIES_0_POLICY_START_GRACE", "/apps/0/activities/0/policy/startGrace"),
        ("APPS_0_ACTIVITIES_0_POLICY_START_ALERT_TITLE", "/apps/0/activities/0/policy/startAlert/title"),
        ("APPS_0_ACTIVITIES_0_POLICY_HIGH_WHEN_VALUES_1", "/apps/0/activities/0/policy/highWhen/values/1"),
    ])
    func `a name is the path in capitals`(_ name: String, _ pointer: String) throws {
        #expect(EnvironmentNames.key(of: name)?.pointer.description == pointer)
    }

    @Test(arguments: [
        "KEY", "LOG_LEVEL", "", "_", "LISTEN_", "_LISTEN", "listen", "APPS", "APPS_0", "APPS_X_BUNDLE_ID",
        "APPS_0BUNDLE_ID", "APPS0_BUNDLE_ID", "APPS_0_BUNDLEID", "APPS_0_APNS_SANDBOX", "APPS_-1_BUNDLE_ID",
        "APPS_0_ACTIVITIES_0_ACTIVITY_IDATTRIBUTE",
    ])
    func `a name that is no key's means nothing`(_ name: String) throws {
        #expect(EnvironmentNames.key(of: name) == nil)
        let settings = try Folder().load(Sample.file(), ["ISLET_" + name: "nonsense"])
        #expect(settings.port == 8080)
    }

    @Test func `the variables and the file know the same keys`() throws {
        let document = try JSONValue(
            parsing: #"""
                {"listen": "", "tls": {"certificate": "", "key": ""}, "storage": "",
                  "tokenKeys": {"file": "", "environment": ""},
                  "limits": {
                    "requestsPerSecond": 1, "requestsPerSecondPerDevice": 1, "openRequests": 1, "connections": 1,
                    "connectionsPerAddress": 1, "joinsPerMinutePerAddress": 1},
                  "durability": "", "nodes": {"listen": "", "address": "", "trustRoots": ""},
                  "metrics": {"served": true, "listen": "", "needsKey": true}, "console": true, "refreshesPerSecond": 1,
                  "tracing": {"endpoint": "", "share": 1},
                  "connections": {"maximum": 1, "idleLifetime": 1, "queuedPushes": 1000},
                  "keep": {"historyDays": 1, "endedDays": 1, "signedOutDays": 1, "silentDays": 1, "credentialDays": 1,
                    "eventDays": 1},
                  "apps": [{
                  "bundleID": "",
                  "apns": {"sandbox": \#(Self.key), "production": \#(Self.key)},
                  "people": {
                    "issuers": [""], "audience": "", "secretFile": "", "secretEnvironment": "", "keyFile": "",
                    "jwks": {"url": "", "refresh": 60, "allowPrivate": true}, "algorithms": [""], "user": "",
                    "leeway": 1},
                  "activities": [{
                    "type": "", "attributesType": "", "activityIDAttribute": "", "contract": "",
                    "contracts": [{"builds": "", "file": ""}],
                    "policy": {
                      "endAfter": 3600,
                      "coalescingWindow": 1, "startGrace": 1, "startWindow": 1, "startStaleAfter": 1, "staleAfter": 1,
                      "highPriorityInterval": 1, "highWhen": {"pointer": "", "values": [0]},
                      "startAlert": {"title": "", "body": "", "sound": ""},
                      "fallback": {"title": "", "body": "", "sound": ""},
                      "reusable": true, "start": "appOnly", "restart": "never", "dismissAfter": 1,
                      "quietHours": {"from": "", "to": "", "zone": "", "holdAlerts": true}, "renewal": true,
                      "authority": "", "join": "", "delivery": "", "channelStorage": "", "channelAlerts": "",
                      "atCeiling": "", "ceiling": 1,
                      "budgets": {
                        "highPerHour": 1, "highPerDay": 1, "frequentPerHour": 1, "frequentPerDay": 1,
                        "startsPerHour": 1, "startsPerDay": 1, "reserve": 1}},
                    "provider": {
                      "url": "", "secretFile": "", "secretEnvironment": "", "timeout": 1, "allowPrivate": true},
                    "public": true,
                    "view": {"title": "", "subtitle": "", "progress": "", "countdown": "", "image": ""}}],
                  "webhooks": [{
                    "name": "", "url": "", "secretFile": "", "secretEnvironment": "", "kinds": [""], "timeout": 1,
                    "allowPrivate": true}]}]}
                """#)
        // The document is complete: it has every key that the decoded file can hold.
        let file = try document.decode(ConfigurationFile.self)
        #expect(absent(in: file).isEmpty)
        // Each of its leaves has a variable, and each variable has a leaf.
        #expect(Set(leaves(of: document, [])) == Set(EnvironmentNames.all))
    }

    private static let key =
        #"""
        {"keyFile":"","keyEnvironment":"","keyID":"","teamID":"","endpoint":"","channelEndpoint":"","trustRoots":"",
         "certificateFile":""}
        """#

    private func leaves(of value: JSONValue, _ tokens: [String]) -> [JSONPointer] {
        if let object = value.object { return object.flatMap { leaves(of: $0.value, tokens + [$0.key]) } }
        if let array = value.array { return array.enumerated().flatMap { leaves(of: $1, tokens + [String($0)]) } }
        return [JSONPointer(tokens: tokens)]
    }

    /// Returns the names of the members that are nil, in the configuration's own types.
    private func absent(in value: Any) -> [String] {
        Mirror(reflecting: value).children.flatMap { child -> [String] in
            let mirror = Mirror(reflecting: child.value)
            if mirror.displayStyle == .optional, mirror.children.isEmpty { return [child.label ?? "?"] }
            return absent(in: child.value)
        }
    }

    @Test func `a variable wins over the file`() throws {
        let settings = try Folder().load(
            Sample.file("listen: 127.0.0.1:1\nstorage: sqlite:a.db"),
            [
                "ISLET_LISTEN": "[::1]:2", "ISLET_STORAGE": "sqlite:/b.db",
                "ISLET_APPS_0_APNS_SANDBOX_KEY_ID": "1234567890",
                "ISLET_APPS_0_APNS_SANDBOX_TEAM_ID": "12345678E9",
                "ISLET_APPS_0_ACTIVITIES_0_POLICY_START_GRACE": "42",
                "ISLET_APPS_0_ACTIVITIES_0_POLICY_REUSABLE": "true",
                "ISLET_APPS_0_ACTIVITIES_0_POLICY_START_ALERT_TITLE": "2026",
                "ISLET_APPS_0_ACTIVITIES_0_POLICY_HIGH_WHEN_POINTER": "/status",
                "ISLET_APPS_0_ACTIVITIES_0_POLICY_HIGH_WHEN_VALUES_0": "ready",
                "ISLET_APPS_0_ACTIVITIES_0_POLICY_HIGH_WHEN_VALUES_1": "7",
            ])
        #expect(settings.host == "::1" && settings.port == 2 && settings.database.path == "/b.db")
        // Ids that consist of digits stay texts.
        #expect(settings.keys.map(\.key.description) == ["key 1234567890 of team 12345678E9"])
        let policy = try #require(settings.apps[0].types["Order"]?.policy)
        #expect(policy.startGrace == .seconds(42) && policy.isReusable)
        #expect(policy.startAlert?.title == .text(Phrase(verbatim: "2026")))
        #expect(policy.highWhen?.values == ["ready", 7])
    }

    @Test func `variables alone can make an app`() throws {
        let app = "ISLET_APPS_0_"
        let settings = try Folder().load(
            "listen: 127.0.0.1:0",
            [
                app + "BUNDLE_ID": "com.acme.pizza", app + "APNS_PRODUCTION_KEY_FILE": "key.p8",
                app + "APNS_PRODUCTION_KEY_ID": "ABC123DEFG", app + "APNS_PRODUCTION_TEAM_ID": "XYZ987MNOP",
                app + "ACTIVITIES_0_TYPE": "Order", app + "ACTIVITIES_0_ATTRIBUTES_TYPE": "OrderAttributes",
                app + "ACTIVITIES_0_POLICY_START_ALERT_TITLE": "Hi",
            ])
        #expect(settings.apps.map(\.bundleID.text) == ["com.acme.pizza"])
        #expect(settings.keys.map(\.environment) == [.production])
    }

    @Test func `an empty variable changes nothing`() throws {
        #expect(try Folder().load(Sample.file("listen: 127.0.0.1:1"), ["ISLET_LISTEN": ""]).port == 1)
    }

    @Test func `what a variable set wrong is said of the variable`() throws {
        let error = try #require(try Folder().error(Sample.file(), ["ISLET_LISTEN": "nowhere"]))
        #expect(error.file == "ISLET_LISTEN" && error.pointer == "/listen")
        let gap = try #require(try Folder().error(Sample.file(), ["ISLET_APPS_7_BUNDLE_ID": "com.acme.cake"]))
        #expect(gap.file == "ISLET_APPS_7_BUNDLE_ID" && gap.problem.contains("no element"))
        let grace = "ISLET_APPS_0_ACTIVITIES_0_POLICY_START_GRACE"
        #expect(try Folder().error(Sample.file(), [grace: "soon"])?.file == grace)
    }

    @Test func `a key from a variable signs, and the variable's text is never said`() throws {
        let folder = try Folder()
        let yaml = Sample.file(key: "{keyEnvironment: APNS_KEY, keyID: ABC123DEFG, teamID: XYZ987MNOP}")
        let pem = folder.signingKey.pemRepresentation
        #expect(try folder.load(yaml, ["APNS_KEY": pem]).keys.count == 1)
        let secret = String(pem.replacing("PRIVATE", with: "SECRET").dropFirst(40).prefix(40))
        let error = try #require(try folder.error(yaml, ["APNS_KEY": secret]))
        #expect(error.problem.contains("not a .p8 file") && !error.description.contains(secret))
        #expect(try folder.error(yaml, ["APNS_KEY": ""])?.problem == "the environment variable APNS_KEY is not set")
    }
}
