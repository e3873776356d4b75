import APNSModel
import LiveActivityCore
import StorageSQLite

// What the phones of a trial do: what they did that day, and what their pushes lead to.
extension TrialRun {
    /// Where nobody could see how long a phone takes.
    private static let usual = Duration.seconds(2)

    /// What a push leads to on its phone.
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

    /// What a phone did of itself.
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

    /// The phones stand as they stood when the day began: a card with a token is sent the state, before anything
    /// counts.
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
        // One that is refused changes nothing, as it would have.
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
