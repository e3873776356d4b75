import APNSClient
import LiveActivityAPI
import LiveActivityStorage

extension SettingsBuilder {
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
        return limits
    }

    private func within(_ range: ClosedRange<Int>, _ value: Int, _ place: String) -> Int {
        if !range.contains(value) {
            problems.note(problem(place, "between \(range.lowerBound) and \(range.upperBound)"))
        }
        return value
    }
}
