import APNSClient
import EmbeddedIslet
import Foundation
import LiveActivityAPI
import LiveActivityServer
import LiveActivityStorage

extension SettingsBuilder {
    func certificates(_ given: ConfigurationFile.TLS?, _ place: String) -> Certificates? {
        guard let given else { return nil }
        let files = CertificateFiles(certificate: resolve(given.certificate), key: resolve(given.key))
        do throws(CertificateProblem) {
            return try Certificates(files)
        } catch {
            let isAboutKey =
                switch error {
                case .unreadable(let path): path != files.certificate
                case .noCertificate: false
                case .noKey, .keyDoesNotFit: true
                }
            problems.note(problem("\(place)/\(isAboutKey ? "key" : "certificate")", "\(error)"))
            return nil
        }
    }

    func limits(_ given: ConfigurationFile.Limits?, _ place: String) -> LiveActivityServer.Limits {
        var limits = LiveActivityServer.Limits()
        guard let given else { return limits }
        func rate(_ rate: ConfigurationFile.Rate?, _ name: String, _ standard: Int?) -> Int? {
            switch rate {
            case nil: standard
            case .off: nil
            case .calls(let number): within(1...1_000_000, number, "\(place)/\(name)")
            }
        }
        limits.requestsPerSecond = rate(given.requestsPerSecond, "requestsPerSecond", limits.requestsPerSecond)
        limits.requestsPerSecondPerDevice = rate(
            given.requestsPerSecondPerDevice, "requestsPerSecondPerDevice", limits.requestsPerSecondPerDevice)
        limits.joinsPerMinutePerAddress = rate(
            given.joinsPerMinutePerAddress, "joinsPerMinutePerAddress", limits.joinsPerMinutePerAddress)
        if let open = given.openRequests {
            limits.openRequests = within(1...100_000, open, "\(place)/openRequests")
        }
        if let connections = given.connections {
            limits.connections = within(1...1_000_000, connections, "\(place)/connections")
        }
        if let ofAddress = given.connectionsPerAddress {
            limits.connectionsPerAddress = within(1...1_000_000, ofAddress, "\(place)/connectionsPerAddress")
        }
        return limits
    }

    func needsStandby(_ given: String?, _ place: String, _ database: DatabaseLocation?) -> Bool {
        switch given {
        case nil, "server"?: return false
        case "twoSafe"?:
            if let database, database.path != nil {
                problems.note(
                    problem(place, "`twoSafe` needs PostgreSQL with a standby: write `storage: postgres://…`"))
            }
            return true
        case let text?:
            problems.note(problem(place, "`\(text)` is neither `server` nor `twoSafe`"))
            return false
        }
    }

    func nodes(
        _ given: ConfigurationFile.Nodes?, _ place: String, _ database: DatabaseLocation?, isEncrypted: Bool
    ) -> NodeSettings? {
        guard let given else { return nil }
        if let database, database.path != nil {
            problems.note(problem(place, "several nodes need PostgreSQL: write `storage: postgres://…`"))
        }
        let listen = problems.noting { () throws(ConfigurationError) in
            let (host, port) = try self.address(given.listen, "\(place)/listen")
            guard port != 0 else { throw problem("\(place)/listen", "a port other than 0, which other nodes know") }
            guard given.address != nil || !["0.0.0.0", "::"].contains(host) else {
                throw problem(
                    "\(place)/listen",
                    "`\(given.listen)` is every address of this machine: write in `nodes.address` "
                        + "which one the other nodes use")
            }
            return (host, port)
        }
        let scheme = isEncrypted ? "https" : "http"
        if let address = given.address {
            let url = URL(string: address)
            let isWhole = url?.scheme == scheme && url?.host?.isEmpty == false && url?.query == nil
            if !isWhole || !["", "/"].contains(url?.path ?? "") {
                problems.note(
                    problem(
                        "\(place)/address",
                        "a URL with \(scheme) and without a path, such as "
                            + "\(scheme)://islet-1.internal:8090; it uses TLS if the API does"))
            }
        }
        let roots = given.trustRoots.map(resolve)
        if let roots, !((try? String(contentsOfFile: roots, encoding: .utf8)) ?? "").contains("-----BEGIN CERTIFICATE")
        {
            problems.note(problem("\(place)/trustRoots", "\(roots) holds no certificate in PEM form"))
        }
        guard let listen else { return nil }
        let host = listen.0.contains(":") ? "[\(listen.0)]" : listen.0
        let written = given.address.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        return NodeSettings(
            host: listen.0, port: listen.1, address: written ?? "\(scheme)://\(host):\(listen.1)", trustRoots: roots)
    }

    func metrics(_ given: ConfigurationFile.Metrics?, _ place: String) -> Settings.Metrics {
        let listener = given?.listen.flatMap { listen in
            problems.noting { () throws(ConfigurationError) in try address(listen, "\(place)/listen") }
        }
        return Settings.Metrics(
            isServed: given?.served ?? ConfigurationKey.Default.metrics, needsKey: given?.needsKey ?? false,
            listener: listener.map { (host: $0.0, port: $0.1) })
    }

    func tracing(_ given: ConfigurationFile.Tracing?, _ place: String) -> Settings.Tracing? {
        guard let given else { return nil }
        let url = URL(string: given.endpoint)
        if !["http", "https"].contains(url?.scheme ?? "") || url?.host?.isEmpty ?? true {
            problems.note(problem("\(place)/endpoint", "an http or https URL such as http://127.0.0.1:4318/v1/traces"))
        }
        let share = given.share ?? 1
        if !(0...1).contains(share) { problems.note(problem("\(place)/share", "from 0 to 1")) }
        return Settings.Tracing(endpoint: given.endpoint, share: share)
    }

    func connections(_ given: ConfigurationFile.Connections?, _ place: String) -> APNSClient.Options {
        var options = APNSClient.Options()
        guard let given else { return options }
        if let maximum = given.maximum {
            options.maximumConnections = within(1...64, maximum, "\(place)/maximum")
        }
        if let queued = given.queuedPushes {
            options.maximumQueuedPushes = within(1000...10_000_000, queued, "\(place)/queuedPushes")
        }
        if let lifetime = given.idleLifetime?.duration {
            options.idleConnectionLifetime = lifetime
            if !(.seconds(1)...Duration.seconds(86_400) ~= lifetime) {
                problems.note(problem("\(place)/idleLifetime", "1s to 1d"))
            }
        }
        return options
    }

    func keep(_ given: ConfigurationFile.Keep?, _ place: String) -> PruneLimits {
        var limits = PruneLimits()
        guard let given else { return limits }
        func days(_ days: Int?, _ name: String, _ standard: Duration) -> Duration {
            days.map { .seconds(within(1...3650, $0, "\(place)/\(name)") * 86_400) } ?? standard
        }
        limits.history = days(given.historyDays, "historyDays", limits.history)
        limits.ended = days(given.endedDays, "endedDays", limits.ended)
        limits.signedOut = days(given.signedOutDays, "signedOutDays", limits.signedOut)
        limits.silent = days(given.silentDays, "silentDays", limits.silent)
        limits.events = days(given.eventDays, "eventDays", limits.events)
        return limits
    }

    func credentialIdleLimit(_ given: ConfigurationFile.Keep?, _ place: String) -> Duration {
        let standard = ConfigurationKey.Default.credentialIdle
        return given?.credentialDays.map { .seconds(within(1...3650, $0, "\(place)/credentialDays") * 86_400) }
            ?? standard
    }

    private func within(_ range: ClosedRange<Int>, _ value: Int, _ place: String) -> Int {
        if !range.contains(value) {
            problems.note(problem(place, "between \(range.lowerBound) and \(range.upperBound)"))
        }
        return value
    }
}
