import APNSClient
import APNSModel
import StorageSQLite

/// What a doctor finds, from what was looked at, in the order in which one thing needs the other.
enum Diagnosis {
    /// Beyond it the server corrects its clock by APNs's.
    static let noticeableSkew = Duration.seconds(10)
    /// Beyond it timestamps, stale dates and provider tokens cannot be trusted.
    static let unbearableSkew = Duration.seconds(60)
    static let certificateWarning = Duration.seconds(14 * 86_400)
    static let lowSpace: Int64 = 1 << 30
    static let noSpace: Int64 = 64 << 20
    /// A log that checkpoints have not kept small: some reader has held them up.
    static let largeLog: Int64 = 256 << 20

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        var findings = configuration(facts.configuration)
        if let database = facts.database { findings += self.database(database) }
        findings += facts.routes.map(key)
        findings += clock(facts)
        guard !facts.isOffline else {
            return findings + [Finding.Check.name, .connection, .push].map { Finding($0, .skipped, "offline") }
        }
        var seen: Set<String> = []
        for route in facts.routes where seen.insert(route.endpoint).inserted {
            findings += endpoint(route, now: facts.clock.wall)
        }
        findings += facts.routes.map(push)
        return findings
    }

    private static func configuration(_ facts: DoctorFacts.ConfigurationFacts) -> [Finding] {
        if !facts.problems.isEmpty {
            return facts.problems.map {
                Finding(.configuration, .failed, $0, advice: "mend it; `islet config reference` prints every key")
            }
        }
        return [Finding(.configuration, .ok, facts.file)]
            + facts.warnings.map { Finding(.configuration, .warning, $0) }
    }

    private static func key(_ route: DoctorFacts.RouteFacts) -> Finding {
        guard let problem = route.signingProblem else {
            return Finding(.key, .ok, "\(route.subject): \(route.key) signs")
        }
        return Finding(
            .key, .failed, "\(route.subject): \(problem)", advice: "give the .p8 file of the developer portal again")
    }

    // MARK: - Clock

    private static func clock(_ facts: DoctorFacts) -> [Finding] {
        guard facts.clock.monotonicAdvances else {
            return [
                Finding(
                    .clock, .failed, "the machine's monotonic clock does not advance",
                    advice: "restart the machine; a virtual machine's host may be at fault")
            ]
        }
        // The largest either way: one of them may be a proxy's.
        guard let skew = facts.routes.compactMap(\.skew).max(by: { magnitude($0) < magnitude($1) }) else {
            return [Finding(.clock, facts.isOffline ? .skipped : .warning, "\(facts.clock.wall); APNs told no time")]
        }
        let (seconds, _) = skew.components
        let side = seconds < 0 ? "behind" : "ahead of"
        let words = "APNs's clock is \(Wording.duration(magnitude(.seconds(seconds)))) \(side) ours"
        let advice = "let NTP set the clock (`timedatectl`): timestamps, stale dates and provider tokens follow it"
        if magnitude(skew) > unbearableSkew { return [Finding(.clock, .failed, words, advice: advice)] }
        if magnitude(skew) > noticeableSkew { return [Finding(.clock, .warning, words, advice: advice)] }
        return [Finding(.clock, .ok, "within \(Wording.duration(noticeableSkew)) of APNs's")]
    }

    private static func magnitude(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }

    // MARK: - The way to APNs

    private static func endpoint(_ route: DoctorFacts.RouteFacts, now: UnixTime) -> [Finding] {
        guard let probe = route.probe else { return [Finding(.name, .skipped, route.endpoint)] }
        let name = Finding(.name, .ok, "\(route.endpoint) is \(probe.address ?? "reached by its address")")
        switch probe.failure {
        case .some(let failure) where failure.step == .name:
            return [
                Finding(
                    .name, .failed, failure.detail,
                    advice: "check the spelling of `endpoint`, and the machine's DNS (`getent hosts NAME`)"),
                Finding(.connection, .skipped, "\(route.endpoint): its name has no address"),
            ]
        case .some(let failure) where failure.step == .connection:
            let advice =
                "let the firewall pass TCP to port 443 (or 2197) of api.push.apple.com and "
                + "api.sandbox.push.apple.com; a proxy that ends TLS will not do"
            return [name, Finding(.connection, .failed, failure.detail, advice: advice)]
        case .some(let failure):
            return [
                name,
                Finding(
                    .connection, .failed, failure.detail,
                    advice: "against Apple leave `trustRoots` out and keep the system's certificates up to date "
                        + "(ca-certificates); for another endpoint give its authority as `trustRoots`"),
            ]
        case nil: return [name, connection(route, probe, now)]
        }
    }

    private static func connection(
        _ route: DoctorFacts.RouteFacts, _ probe: EndpointProbe.Report, _ now: UnixTime
    ) -> Finding {
        guard probe.applicationProtocol == "h2" else {
            return Finding(
                .connection, .failed, "\(route.endpoint) does not speak HTTP/2 (ALPN chose no h2)",
                advice: "APNs does: something else answers there, such as a proxy that inspects TLS")
        }
        guard let end = probe.certificateEndsAt else {
            return Finding(.connection, .ok, "\(route.endpoint): TLS, HTTP/2")
        }
        let left = end - now
        let days = left.components.seconds / 86_400
        let words = "\(route.endpoint): TLS, HTTP/2, its certificate is good for \(days) days (until \(end))"
        guard left < certificateWarning else { return Finding(.connection, .ok, words) }
        return Finding(
            .connection, .warning, words,
            advice: "renew it if it is yours; if it is Apple's, a proxy or the clock is at fault")
    }
}
