import APNSModel
import LiveActivityCore
import StorageSQL
import StorageSQLite

// The phones of a trial: the acts recorded that day, and the reactions to pushes.
extension TrialRun {
    /// Reaction time of a phone if the recording does not show it.
    private static let usual = Duration.seconds(2)

    /// Schedules the phone's reaction to a push.
    mutating func answer(_ plan: PushPlan, of key: TrialCardKey) {
        guard plan.part == .card, let recorded = day.activities[key.activity].cards[key.device] else { return }
        switch plan.kind {
        case .start:
            cards[key, default: TrialCard()].begin()
            let number = cards[key]?.number ?? 0
            if let wait = Self.wait(recorded.reports) { agenda.add(.reports(key, card: number), at: now + wait) }
            if let wait = Self.wait(recorded.token) { agenda.add(.token(key, card: number), at: now + wait) }
        case .end:
            guard let card = cards[key], card.isThere, let wait = Self.wait(recorded.confirmsEnd) else { return }
            agenda.add(.confirmsEnd(key, card: card.number), at: now + wait)
        case .update: return
        }
    }

    private static func wait(_ answer: RecordedCard.Answer) -> Duration? {
        switch answer {
        case .unknown: usual
        case .after(let wait): wait
        case .never: nil
        }
    }

    /// Applies an act that a phone performed by itself.
    mutating func act(_ key: TrialCardKey, _ deed: RecordedCard.Deed) async throws {
        switch deed {
        case .starts:
            guard cards[key]?.isThere != true else { return }
            cards[key, default: TrialCard()].begin()
            cards[key]?.takeToken()
            try await report(key, .active)
        case .newToken:
            guard cards[key]?.isThere == true else { return }
            cards[key]?.takeToken()
            try await report(key, .active)
        case .dismisses: try await end(key, .dismissed)
        case .loses: try await end(key, .gone)
        case .ends: try await end(key, .ended)
        case .leaves: try await audience(key, joins: false)
        }
    }

    private mutating func end(_ key: TrialCardKey, _ state: CardReport.State) async throws {
        guard cards[key]?.isThere == true else { return }
        try await report(key, state)
    }

    /// Restores the phones' cards as they were at the beginning of the day.
    ///
    /// A card with a token is sent the state first. That push is not counted.
    mutating func standAsBefore(_ activity: Int) async throws {
        for (device, card) in day.activities[activity].cards.sorted(by: { $0.key < $1.key }) {
            let key = TrialCardKey(activity: activity, device: device)
            switch card.standing {
            case .nothing: continue
            case .live(let hasToken):
                cards[key, default: TrialCard()].begin()
                if hasToken { cards[key]?.takeToken() }
                try await report(key, .active)
            case .dismissed:
                cards[key, default: TrialCard()].begin()
                try await report(key, .dismissed)
            }
        }
    }

    mutating func report(_ key: TrialCardKey, _ state: CardReport.State) async throws {
        guard let card = cards[key], let phone = day.phones[key.device] else { return }
        var report = CardReport(localID: card.localID, type: type, state: state)
        report.activity = id(key.activity)
        if state == .active {
            if card.tokens > 0 {
                let word = "\(phone.facts.id.text) \(key.activity) \(card.number) \(card.tokens)"
                report.token = try UpdateToken(hex: TrialStage.token(word))
            }
        } else {
            cards[key]?.end()
        }
        // The result is ignored: a refused report changes nothing, as on the recorded day.
        _ = try await stage.store.commit(
            ReportCard(app: stage.app, device: phone.facts.id, report: report, now: now))
    }

    func audience(_ key: TrialCardKey, joins: Bool) async throws {
        guard let phone = day.phones[key.device] else { return }
        let user = Self.user(of: phone.facts.id)
        _ = try await stage.store.commit(
            ChangeAudience(
                app: stage.app.bundleID, id: id(key.activity),
                change: .change(add: joins ? [user] : [], remove: joins ? [] : [user]), now: now))
    }
}
