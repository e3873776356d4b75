import APNSClient
import APNSModel

/// The findings of `islet doctor`, derived from facts, in an order in which each depends on those before it.
enum Diagnosis {
    /// Skew beyond which the server corrects its clock by APNs's.
    static let noticeableSkew = Duration.seconds(10)
    /// Skew beyond which timestamps, stale dates and provider tokens cannot be trusted.
    static let unbearableSkew = Duration.seconds(60)
    static let certificateWarning = Duration.seconds(14 * 86_400)
    static let lowSpace: Int64 = 1 << 30
    static let noSpace: Int64 = 64 << 20
    /// Size of the write-ahead log that shows that a reader has held up the checkpoints.
    static let largeLog: Int64 = 256 << 20

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        var findings = configuration(facts.configuration)
        if let database = facts.database { findings += self.database(database) }
        findings += contracts(facts.contracts)
        findings += facts.routes.map(key)
        if let end = facts.certificateEndsAt { findings.append(certificate(end, now: facts.clock.wall)) }
        findings += clock(facts)
        if facts.isOffline {
            let ids: [Finding.ID] = [.nameNotChecked, .connectionNotChecked, .pushNotChecked]
            findings += ids.map { Finding($0, "offline") }
            if facts.routes.contains(where: \.usesChannels) { findings.append(Finding(.channelNotChecked, "offline")) }
        } else {
            var seen: Set<String> = []
            for route in facts.routes where seen.insert(route.endpoint).inserted {
                findings += endpoint(route, now: facts.clock.wall)
            }
            findings += facts.routes.map(push)
            findings += facts.routes.filter(\.usesChannels).map(channels)
        }
        return findings + facts.addresses.map(address)
    }

    private static func configuration(_ facts: DoctorFacts.ConfigurationFacts) -> [Finding] {
        if !facts.problems.isEmpty { return facts.problems.map { Finding(.configurationWrong, $0) } }
        return [Finding(.configurationGood, facts.file)]
            + facts.warnings.map { Finding(.configurationDoubtful, $0) }
    }

    private static func contracts(_ facts: [DoctorFacts.ContractFacts]?) -> [Finding] {
        guard let facts else { return [Finding(.contractNotChecked, "the database cannot be opened")] }
        return facts.map { fact in
            let whose = "\(fact.app) \(fact.type)"
            guard fact.unfit > 0 else {
                guard !fact.isCut else {
                    return Finding(
                        .contractNotChecked,
                        "\(whose): only \(fact.looked) activities of this type were found among the newest 200,000 "
                            + "running activities")
                }
                return Finding(.contractGood, "\(whose): all of \(fact.looked) checked activities fit the contract")
            }
            return Finding(
                .contractDrift,
                "\(whose): \(fact.unfit) of \(fact.looked) checked activities no longer fit the contract"
                    + (fact.example.map { ", for example \($0)" } ?? ""))
        }
    }

    private static func key(_ route: DoctorFacts.RouteFacts) -> Finding {
        guard let problem = route.signingProblem else {
            return Finding(.keyGood, "\(route.subject): \(route.key) signs")
        }
        return Finding(.keyUnusable, "\(route.subject): \(problem)")
    }

    private static func certificate(_ end: UnixTime, now: UnixTime) -> Finding {
        if end <= now { return Finding(.certificateEnded, "the server's certificate expired on \(end)") }
        let words =
            "the server's certificate matches its key and is valid for "
            + "\((end - now).components.seconds / 86_400) more days"
        return Finding(end - now < certificateWarning ? .certificateEnds : .certificateGood, "\(words) (until \(end))")
    }

    private static func address(_ facts: DoctorFacts.AddressFacts) -> Finding {
        let ids: (good: Finding.ID, place: Finding.ID, unreachable: Finding.ID, skipped: Finding.ID) =
            switch facts.kind {
            case .people: (.peopleGood, .peopleUnusable, .peopleUnusable, .peopleNotChecked)
            case .provider: (.providerGood, .providerAddress, .providerUnreachable, .providerNotChecked)
            case .webhook: (.webhookGood, .webhookAddress, .webhookUnreachable, .webhookNotChecked)
            }
        let whose = "\(facts.subject): \(facts.origin)"
        return switch facts.outcome {
        case nil: Finding(ids.skipped, "\(facts.subject): offline")
        case .good(let words)?: Finding(ids.good, "\(whose) \(words ?? "can be reached")")
        case .place(let problem)?: Finding(ids.place, "\(whose): \(problem)")
        case .unreachable(let problem)?: Finding(ids.unreachable, "\(whose): \(problem)")
        }
    }

    // MARK: - Clock

    private static func clock(_ facts: DoctorFacts) -> [Finding] {
        guard facts.clock.monotonicAdvances else {
            return [Finding(.clockStands, "the machine's monotonic clock does not advance")]
        }
        // The largest skew in either direction, because one of the answers may come from a proxy.
        guard let skew = facts.routes.compactMap(\.skew).max(by: { magnitude($0) < magnitude($1) }) else {
            return [
                Finding(
                    facts.isOffline ? .clockNotChecked : .clockUnknown,
                    "\(facts.clock.wall); no answer from APNs "
                        + "contained a date")
            ]
        }
        let (seconds, _) = skew.components
        let side = seconds < 0 ? "behind" : "ahead of"
        let words = "APNs's clock is \(Wording.duration(magnitude(.seconds(seconds)))) \(side) this machine's"
        if magnitude(skew) > unbearableSkew { return [Finding(.clockFarOff, words)] }
        if magnitude(skew) > noticeableSkew { return [Finding(.clockOff, words)] }
        return [Finding(.clockGood, "within \(Wording.duration(noticeableSkew)) of APNs's")]
    }

    private static func magnitude(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }

    // MARK: - Path to APNs

    private static func endpoint(_ route: DoctorFacts.RouteFacts, now: UnixTime) -> [Finding] {
        guard let probe = route.probe else { return [Finding(.nameNotChecked, route.endpoint)] }
        let name = Finding(.nameGood, "\(route.endpoint) is \(probe.address ?? "an address, so no name was looked up")")
        switch probe.failure {
        case .some(let failure) where failure.step == .name:
            return [
                Finding(.nameUnknown, failure.detail),
                Finding(.connectionNotChecked, "\(route.endpoint): its name has no address"),
            ]
        case .some(let failure) where failure.step == .connection:
            return [name, Finding(.connectionClosed, failure.detail)]
        case .some(let failure): return [name, Finding(.connectionNotTrusted, failure.detail)]
        case nil: return [name, connection(route, probe, now)]
        }
    }

    private static func connection(
        _ route: DoctorFacts.RouteFacts, _ probe: EndpointProbe.Report, _ now: UnixTime
    ) -> Finding {
        guard probe.applicationProtocol == "h2" else {
            return Finding(.connectionNotHTTP2, "\(route.endpoint) does not speak HTTP/2 (ALPN chose no h2)")
        }
        guard let end = probe.certificateEndsAt else {
            return Finding(.connectionGood, "\(route.endpoint): TLS, HTTP/2")
        }
        let left = end - now
        let days = left.components.seconds / 86_400
        return Finding(
            left < certificateWarning ? .connectionCertificateEnds : .connectionGood,
            "\(route.endpoint): TLS, HTTP/2, its certificate is valid for \(days) more days (until \(end))")
    }
}
