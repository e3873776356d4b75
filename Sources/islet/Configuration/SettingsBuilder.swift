import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore

/// Converts a configuration file to settings, and records all its problems with their places.
struct SettingsBuilder {
    let file: String
    let folder: String
    let environment: [String: String]

    /// Problems so far.
    let problems = ConfigurationProblems()

    /// Returns the settings, or `nil` if `problems` is not empty.
    func settings(of configuration: ConfigurationFile) -> Settings? {
        let address = problems.noting { () throws(ConfigurationError) in
            try self.address(configuration.listen ?? ConfigurationKey.Default.listen, "/listen")
        }
        let database = problems.noting { () throws(ConfigurationError) in
            try self.database(configuration.storage ?? ConfigurationKey.Default.storage)
        }
        let tokenKeys = tokenKeys(configuration.tokenKeys, "/tokenKeys", database: database)
        if configuration.apps.isEmpty { problems.note(problem("/apps", "at least one app is needed")) }
        var apps: [AppSettings] = []
        var keys: [Settings.KeySettings] = []
        var backends: [ServerParts.Backend] = []
        var webhooks: [ServerParts.Webhook] = []
        var people: [(app: BundleID, place: String, people: ServerParts.AppPeople)] = []
        for (index, app) in configuration.apps.enumerated() {
            let place = "/apps/\(index)"
            let bundleID = problems.noting { () throws(ConfigurationError) in
                try self.bundleID(app.bundleID, "\(place)/bundleID", besides: apps)
            }
            // A placeholder, so that problems below this app are found too.
            guard let bundleID = bundleID ?? BundleID("unknown") else { continue }
            let ofApp = self.keys(app.apns, "\(place)/apns", bundleID)
            keys += ofApp
            backends += self.backends(app.activities, "\(place)/activities", bundleID)
            webhooks += self.webhooks(app.webhooks, "\(place)/webhooks", bundleID)
            if let itsPeople = self.people(app.people, "\(place)/people") {
                people.append((bundleID, "\(place)/people", itsPeople))
            }
            apps.append(
                AppSettings(
                    bundleID: bundleID, types: types(app.activities, "\(place)/activities"),
                    environments: Set(ofApp.map(\.environment))))
        }
        checkAmbiguity(people.map { ($0.place, $0.people) })
        let certificates = certificates(configuration.tls, "/tls")
        let limits = limits(configuration.limits, "/limits")
        let needsStandby = needsStandby(configuration.durability, "/durability", database)
        let nodes = nodes(configuration.nodes, "/nodes", database, isEncrypted: configuration.tls != nil)
        let metrics = metrics(configuration.metrics, "/metrics")
        let tracing = tracing(configuration.tracing, "/tracing")
        let connections = connections(configuration.connections, "/connections")
        let keep = keep(configuration.keep, "/keep")
        let idleLimit = credentialIdleLimit(configuration.keep, "/keep")
        let pace = configuration.refreshesPerSecond ?? ConfigurationKey.Default.refreshesPerSecond
        if !(1...100_000).contains(pace) { problems.note(problem("/refreshesPerSecond", "from 1 to 100000")) }
        guard problems.all.isEmpty, let (host, port) = address, let database, let tokenKeys else { return nil }
        return Settings(
            host: host, port: port, certificates: certificates, limits: limits, database: database,
            needsStandby: needsStandby, tokenKeys: tokenKeys,
            nodes: nodes, metrics: metrics,
            console: configuration.console ?? ConfigurationKey.Default.console, tracing: tracing,
            connections: connections, keep: keep,
            credentialIdleLimit: idleLimit, apps: apps,
            people: Dictionary(people.map { ($0.app, $0.people) }, uniquingKeysWith: { first, _ in first }),
            routes: keys.map(\.route), keys: keys, backends: backends, webhooks: webhooks,
            refreshesPerSecond: pace)
    }

    private func bundleID(
        _ text: String, _ place: String, besides apps: [AppSettings]
    ) throws(ConfigurationError) -> BundleID {
        guard let bundleID = BundleID(text) else {
            throw problem(place, "`\(text)` is not a bundle id such as com.acme.pizza")
        }
        guard !apps.contains(where: { $0.bundleID == bundleID }) else {
            throw problem(place, "`\(bundleID)` is configured twice")
        }
        return bundleID
    }

    private func keys(
        _ environments: ConfigurationFile.Environments, _ place: String, _ app: BundleID
    ) -> [Settings.KeySettings] {
        if environments.sandbox == nil, environments.production == nil {
            problems.note(problem(place, "a key for `sandbox` or `production` is needed"))
        }
        let given = [(APNSEnvironment.sandbox, environments.sandbox), (.production, environments.production)]
        return given.compactMap { environment, key in
            guard let key else { return nil }
            let settings = problems.noting { () throws(ConfigurationError) in
                try self.key(key, "\(place)/\(environment.rawValue)", app, environment)
            }
            return settings ?? nil
        }
    }

    private func types(_ activities: [ConfigurationFile.Activity], _ place: String) -> [ActivityType] {
        if activities.isEmpty { problems.note(problem(place, "at least one activity type is needed")) }
        var types: [ActivityType] = []
        for (number, activity) in activities.enumerated() {
            let type = problems.noting { () throws(ConfigurationError) in
                try self.type(activity, "\(place)/\(number)", besides: types)
            }
            if let type { types.append(type) }
        }
        return types
    }

    func problem(_ pointer: String, _ text: String) -> ConfigurationError {
        ConfigurationError(file: file, pointer: pointer, problem: text)
    }

    func address(_ listen: String, _ place: String) throws(ConfigurationError) -> (String, Int) {
        let wrong = problem(
            place, "`\(listen)` is not host:port such as 127.0.0.1:8080 or [::1]:8080 (port 0 takes a free one)")
        guard let colon = listen.lastIndex(of: ":") else { throw wrong }
        let digits = listen[listen.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = Int(digits),
            (0...65_535).contains(port)
        else { throw wrong }
        var host = listen[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        // An IPv6 address needs brackets, because otherwise its end and the port are ambiguous.
        guard isBracketed == host.contains(":"), !host.contains(where: { "[]/ ".contains($0) }) else { throw wrong }
        guard !host.isEmpty else { throw problem(place, "`\(listen)` names no host") }
        return (String(host), port)
    }

    private func database(_ storage: String) throws(ConfigurationError) -> DatabaseLocation {
        if DatabaseLocation.isURL(storage) { return .postgres(url: storage) }
        guard storage.hasPrefix("sqlite:"), storage.count > "sqlite:".count else {
            // The message does not quote the text, which may contain a password.
            throw problem("/storage", "neither sqlite:path nor a URL such as postgres://islet@db.example.com/islet")
        }
        return .sqlite(path: resolve(String(storage.dropFirst("sqlite:".count))))
    }

    /// Returns the path, relative to the configuration's folder.
    func resolve(_ path: String) -> String {
        path.hasPrefix("/") ? path : URL(fileURLWithPath: folder).appendingPathComponent(path).path
    }

    // MARK: - Keys

    private func key(
        _ key: ConfigurationFile.Key, _ place: String, _ app: BundleID, _ environment: APNSEnvironment
    ) throws(ConfigurationError) -> Settings.KeySettings? {
        if key.certificateFile != nil { throw certificate("\(place)/certificateFile") }
        if let path = key.keyFile?.lowercased(), path.hasSuffix(".p12") || path.hasSuffix(".pfx") {
            throw certificate("\(place)/keyFile")
        }
        if key.keyID == nil { problems.note(problem("\(place)/keyID", "missing: the ten characters of the key")) }
        guard let teamID = key.teamID else {
            throw problem("\(place)/teamID", "missing: the ten characters of the team")
        }
        let (text, source) = try secret(key, place)
        guard let keyID = key.keyID else { return nil }
        let provider: ProviderKey
        do throws(ProviderKeyError) {
            provider = try ProviderKey(keyID: keyID, teamID: teamID, p8: text)
        } catch {
            throw problem(place, error.description)
        }
        if key.channelEndpoint != nil, key.endpoint == nil {
            throw problem("\(place)/channelEndpoint", "only beside `endpoint`, of the same service")
        }
        do throws(APNSClientError) {
            let endpoint = try key.endpoint.map { text throws(APNSClientError) in try APNSClient.Endpoint(text) }
            var broadcast: APNSClient.BroadcastEndpoints?
            if let endpoint, let text = key.channelEndpoint {
                broadcast = APNSClient.BroadcastEndpoints(send: endpoint, management: try APNSClient.Endpoint(text))
            }
            let roots: APNSClient.TrustRoots = key.trustRoots.map { .file(resolve($0)) } ?? .system
            let route = APNSClient.Route(
                bundleID: app, environment: environment, key: provider,
                endpoint: endpoint ?? .apple(environment), trustRoots: roots, broadcast: broadcast)
            return Settings.KeySettings(
                app: app, environment: environment, key: provider, route: route, place: place, source: source)
        } catch {
            throw problem("\(place)/endpoint", error.description)
        }
    }

    private func certificate(_ place: String) -> ConfigurationError {
        problem(
            place,
            "Apple accepts no certificates for Live Activities, only a token key: give keyFile (a .p8), keyID and "
                + "teamID")
    }

    private func secret(
        _ key: ConfigurationFile.Key, _ place: String
    ) throws(ConfigurationError) -> (text: String, source: Settings.KeySettings.Source) {
        switch (key.keyFile, key.keyEnvironment) {
        case (let path?, nil):
            // The message does not quote the path: it may be the key itself.
            guard !path.contains("-----BEGIN"), !path.contains(where: \.isNewline) else {
                throw problem("\(place)/keyFile", "give the path of the .p8 file, not its text")
            }
            guard let data = FileManager.default.contents(atPath: resolve(path)) else {
                throw problem("\(place)/keyFile", "`\(path)` cannot be read")
            }
            return (String(decoding: data, as: UTF8.self), .file(resolve(path)))
        case (nil, let name?):
            guard Self.isVariable(name) else {
                throw problem("\(place)/keyEnvironment", "give the name of an environment variable, not the key itself")
            }
            guard let text = environment[name], !text.isEmpty else {
                throw problem("\(place)/keyEnvironment", "the environment variable \(name) is not set")
            }
            return (text, .variable(name))
        default:
            throw problem(place, "give the .p8 key either as keyFile or as keyEnvironment")
        }
    }

    /// Returns `true` if a text can be the name of a variable, and not a key that was given in its place.
    ///
    /// The limit of 60 characters is shorter than a line of a key file, which may consist of the same characters.
    static func isVariable(_ name: String) -> Bool {
        (1...60).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
            }
    }

    // MARK: - Types

    private func type(
        _ activity: ConfigurationFile.Activity, _ place: String, besides types: [ActivityType]
    ) throws(ConfigurationError) -> ActivityType {
        guard !activity.type.isEmpty, activity.type.utf8.count <= 128 else {
            throw problem("\(place)/type", "a type's name has 1 to 128 bytes")
        }
        guard !types.contains(where: { $0.name == activity.type }) else {
            throw problem("\(place)/type", "`\(activity.type)` is configured twice")
        }
        guard !activity.attributesType.isEmpty, activity.attributesType.utf8.count <= 256 else {
            throw problem("\(place)/attributesType", "the Swift name of the app's ActivityAttributes type is needed")
        }
        let pointer = try activity.activityIDAttribute.map { text throws(ConfigurationError) in
            try PolicyBuilder(file: file, problems: problems).pointer(text, "\(place)/activityIDAttribute")
        }
        let contracts = try contracts(of: activity, place)
        let builder = PolicyBuilder(file: file, problems: problems)
        let policy = try builder.policy(activity.policy, "\(place)/policy")
        try builder.checkStart(policy, "\(place)/policy")
        var type = ActivityType(
            name: activity.type, attributesType: activity.attributesType, activityIDAttribute: pointer, policy: policy,
            contract: contracts.newest)
        type.olderContracts = contracts.older
        type.isProvided = activity.provider != nil
        try checkDelivery(type, isPublic: activity.public ?? false, "\(place)/policy/delivery")
        try checkJoin(type, isPublic: activity.public ?? false, "\(place)/policy/join")
        type.view = try activity.view.map { view throws(ConfigurationError) in try self.view(view, "\(place)/view") }
        return type
    }

    /// Checks that anybody may see what is given to callers without a credential.
    ///
    /// - Throws: A problem at `join`.
    private func checkJoin(_ type: ActivityType, isPublic: Bool, _ place: String) throws(ConfigurationError) {
        guard type.policy.join == .anonymous else { return }
        guard isPublic else {
            throw problem(
                place,
                "anonymous needs `public: true` of the type: whoever can name an activity gets its attributes and its "
                    + "state without a credential")
        }
        guard !type.isProvided else {
            throw problem(
                place, "audience or open: a provider gives each person a state of their own, which is not for anybody")
        }
        guard type.policy.delivery != .token else {
            throw problem(
                place,
                "anonymous needs `delivery: channel` or `auto`: without a credential nobody can report an update "
                    + "token, so nothing could change the card or end it")
        }
    }

    /// Checks that one broadcast may carry what everybody sees.
    ///
    /// - Throws: A problem at `delivery`.
    private func checkDelivery(
        _ type: ActivityType, isPublic: Bool, _ place: String
    ) throws(ConfigurationError) {
        guard type.policy.delivery != .token else { return }
        guard isPublic else {
            throw problem(
                place,
                "needs `public: true` of the type: whoever knows the id of a broadcast channel can follow it, so "
                    + "everybody may see what anybody sees")
        }
        guard type.policy.delivery == .channel else { return }
        guard !type.isProvided else {
            throw problem(
                place,
                "token or auto: a provider gives each person a state of their own, and a broadcast is one for all")
        }
        guard type.olderContracts.isEmpty else {
            throw problem(
                place,
                "token or auto: a broadcast reaches every build of the app, and `contracts` says that some cannot "
                    + "decode it"
            )
        }
    }
}
