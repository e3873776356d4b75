import LiveActivityAPI
import LiveActivityCore

extension Outlook {
    /// Numbers of phones by what follows on them, and the reasons why phones wait or get nothing.
    struct Tally {
        var phones = ActivityAnswer.Phones(start: 0, update: 0, pending: 0, none: 0)
        var reasons: [ActivityAnswer.ReasonCount] = []
        var counted = 0
        /// `true` if the numbers are estimated from a sample.
        var isEstimate = false
    }

    func tally(_ situations: [PhoneSituation]) -> Tally {
        Self.tally(situations.map { Share(verdict(on: $0), count: 1) }, isEstimate: false)
    }

    /// Estimates a tally for too many phones.
    ///
    /// The numbers of phones without a card, with an open start, with a card, and with a card that is over are exact.
    /// The course of each kind is estimated from a sample of it. Device keys are random, so any range of them is a
    /// random sample.
    func tally(_ counts: LaneCounts, sample: [PhoneSituation]) -> Tally {
        var shares: [Share] = []
        for kind in Kind.allCases {
            let verdicts = sample.filter { kind.contains($0.card.state) }.map(verdict)
            shares += kind.share(kind.count(in: counts), verdicts)
        }
        return Self.tally(shares, isEstimate: sample.count < counts.total)
    }

    /// A number of phones with the same verdict.
    fileprivate struct Share {
        let verdict: Verdict
        let count: Int

        init(_ verdict: Verdict, count: Int) {
            self.verdict = verdict
            self.count = count
        }
    }

    private static func tally(_ shares: [Share], isEstimate: Bool) -> Tally {
        var tally = Tally()
        tally.isEstimate = isEstimate
        var counts: [String: Int] = [:]
        for share in shares where share.count > 0 {
            tally.counted += share.count
            switch share.verdict.course {
            case .start: tally.phones.start += share.count
            case .update: tally.phones.update += share.count
            case .fallback:
                tally.phones.fallback = (tally.phones.fallback ?? 0) + share.count
                counts[share.verdict.reason.code, default: 0] += share.count
            case .pending:
                tally.phones.pending += share.count
                counts[share.verdict.reason.code, default: 0] += share.count
            case .none:
                tally.phones.none += share.count
                counts[share.verdict.reason.code, default: 0] += share.count
            }
        }
        tally.reasons = reasons(counts)
        return tally
    }

    /// The kinds of phones that lanes count.
    private enum Kind: CaseIterable {
        case absent, open, live, over

        func count(in counts: LaneCounts) -> Int {
            switch self {
            case .absent: counts.absent
            case .open: counts.open
            case .live: counts.live
            case .over: counts.over
            }
        }

        func contains(_ state: CardState) -> Bool {
            var counts = LaneCounts()
            counts.count(state, 1)
            return count(in: counts) == 1
        }

        /// Divides the phones of this kind in the proportions of its sample. The rounding error goes to the largest
        /// part.
        ///
        /// A kind that is missing in the sample is rare. All its phones get the usual verdict.
        func share(_ total: Int, _ sample: [Verdict]) -> [Share] {
            guard !sample.isEmpty else { return [Share(usual, count: total)] }
            var parts: [String: (verdict: Verdict, count: Int)] = [:]
            for verdict in sample {
                parts["\(verdict.course) \(verdict.reason.code)", default: (verdict, 0)].count += 1
            }
            var shares = parts.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { part in
                Share(part.value.verdict, count: part.value.count * total / sample.count)
            }
            let rest = total - shares.reduce(0) { $0 + $1.count }
            if let first = shares.first { shares[0] = Share(first.verdict, count: first.count + rest) }
            return shares
        }

        private var usual: Verdict {
            switch self {
            case .absent: Verdict(course: .pending, reason: .init(.init(.noPushToStartToken)))
            case .open: Verdict(course: .pending, reason: .init(.init(.startUnconfirmed)))
            case .live: Verdict(course: .update, reason: .init(.init(.newState)))
            case .over: Verdict(course: .none, reason: .init(.init(.cardEnded)))
            }
        }
    }
}

extension Outlook.Tally {
    /// Returns a sentence such as "will start 812 of 1,040; 103 below iOS 17.2, 90 without token, 35 disabled".
    func summary(total: Int) -> String {
        guard total > 0 else { return "no phone: nothing to update" }
        let about = isEstimate ? "about " : ""
        var will: [String] = []
        if phones.start > 0 { will.append("start \(about)\(phones.start.grouped)") }
        if phones.update > 0 { will.append("update \(about)\(phones.update.grouped)") }
        // One broadcast follows for all phones whose channel is behind.
        for (code, words) in Self.broadcasts {
            guard let waiting = reasons.first(where: { $0.reason == code.rawValue }) else { continue }
            will.append("\(words) \(about)\(waiting.count.grouped)")
        }
        let others = reasons.filter { reason in !Self.broadcasts.contains { $0.code.rawValue == reason.reason } }
        let head =
            will.isEmpty
            ? "nothing is sent now to any of \(total.grouped)"
            : "will \(will.joined(separator: " and ")) of \(total.grouped)"
        let rest = others.prefix(6).map { "\(about)\($0.count.grouped) \(Self.words($0.reason))" }
        let more = others.count > 6 ? ", …" : ""
        return rest.isEmpty ? head : head + "; " + rest.joined(separator: ", ") + more
    }

    /// Codes of phones for which one broadcast follows, with what the server will do.
    private static let broadcasts: [(code: LiveActivityCore.Reason.Code, words: String)] = [
        (.channelBehind, "broadcast to"), (.alertByNotification, "broadcast to and notify"),
    ]

    private static func words(_ code: String) -> String {
        switch LiveActivityCore.Reason.Code(rawValue: code) {
        case .belowPushToStart: "below iOS 17.2"
        case .noPushToStartToken: "without token"
        case .pushToStartTokenDead: "with a dead start token"
        case .activitiesDisabled: "disabled"
        case .incompatibleBuild: "on a build of the app that cannot decode it"
        case .startUnconfirmed: "started and not confirmed"
        case .startFateUnknown: "whose start may or may not have arrived"
        case .waitingForUpdateToken: "without update token"
        case .updateTokenDead: "with a dead update token"
        case .onChannel: "on a broadcast channel"
        case .channelPending: "waiting for a broadcast channel"
        case .channelCurrent: "up to date on a broadcast channel"
        case .endsAtContact: "whose app ends it at its next contact"
        case .personDismissed: "dismissed by the person"
        case .cardGone: "gone"
        case .cardEnded: "ended"
        case .upToDate: "up to date"
        case .signedOut: "signed out"
        case .leftAudience: "who left"
        case .otherDeviceActive: "on another device of the person"
        case .appOnly: "started by the app alone"
        case .startNever: "not to be started"
        case .noStartAlert: "without an alert to start with"
        case .endedUnseen: "ended before they were shown"
        case .startBudget: "over the budget of starts"
        case .startGrace, .requesting: "whose app may be starting it"
        default: code
        }
    }
}
