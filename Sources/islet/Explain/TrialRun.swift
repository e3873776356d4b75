import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// A run of a recorded day under another policy, with a separate clock.
///
/// Changes happen as they were recorded, and phones react as they did. The server's own claims and decisions follow
/// from them.
struct TrialRun {
    static let maximumSteps = 1_000_000
    /// Number of phones to register concurrently.
    private static let chunk = 256
    private static let page = 500

    var stage: TrialStage
    let day: RecordedDay
    let type: ActivityType
    let present: ActivityType
    private let isOver: @Sendable () -> Bool
    private(set) var now: UnixTime
    var agenda: TrialAgenda
    var cards: [TrialCardKey: TrialCard] = [:]
    /// Numbers of the activities in the store, once they exist.
    private var numbers: [Int: ActivityNumber] = [:]
    private var places: [ActivityNumber: Int] = [:]
    private var changed: Set<Int> = []
    private var held: [LiveActivityCore.Reason.Code: Set<TrialCardKey>] = [:]
    private var figures = DayFigures()

    init(store: SQLStore, _ trial: PolicyTrials.Trial) {
        var type = trial.type
        present = trial.app.types[type.name] ?? type
        // States were checked and their dates were converted when they were recorded, so contracts must not apply
        // again.
        type.contract = nil
        type.olderContracts = []
        self.type = type
        let app = AppSettings(bundleID: trial.app.bundleID, types: [type], environments: trial.app.environments)
        stage = TrialStage(store: store, app: app)
        day = trial.day
        isOver = trial.isOver
        agenda = TrialAgenda(trial.day)
        now = agenda.next ?? trial.day.from
    }

    /// Runs the trial.
    ///
    /// - Returns: Figures of the pushes within the day.
    /// - Throws: `PolicyTrials.Stopped` if the trial exceeds its time or its steps, `CancellationError` if the task is
    ///   canceled.
    mutating func run() async throws -> DayFigures {
        try await registerPhones(at: now - .seconds(86_400))
        for _ in 0..<Self.maximumSteps {
            try check()
            while let item = agenda.take(at: now) { try await play(item) }
            for push in try await stage.deliver(at: now) { sent(push) }
            try await lookAtThoseWhoWait()
            let times = [agenda.next, try await stage.store.nextWakeAt()]
            guard let next = times.compactMap({ $0 }).min(), next < day.to else { return try await counted() }
            now = max(now + .milliseconds(1), next)
        }
        throw PolicyTrials.Stopped()
    }

    private func check() throws {
        try Task.checkCancellation()
        if isOver() { throw PolicyTrials.Stopped() }
    }

    var isCounted: Bool { now >= day.from }

    // MARK: - Events

    private func registerPhones(at time: UnixTime) async throws {
        let (stage, type) = (stage, type.name)
        let phones = day.phones.sorted { $0.key < $1.key }
        for begin in stride(from: 0, to: phones.count, by: Self.chunk) {
            try check()
            // Concurrent registrations share commits.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (key, phone) in phones[begin..<min(phones.count, begin + Self.chunk)] {
                    group.addTask {
                        let starts = phone.hasStartToken ? type : nil
                        try await stage.register(
                            phone.facts.id, try Self.body(of: phone), key: key, starts: starts, at: time)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private static func body(of phone: RecordedPhone) throws -> RegisterDevice.Body {
        var body = RegisterDevice.Body(user: user(of: phone.facts.id))
        body.timeZone = phone.facts.timeZone
        body.osVersion = phone.facts.osVersion
        body.build = phone.facts.build
        body.environment = phone.facts.environment
        body.activitiesEnabled = phone.facts.activitiesEnabled
        body.frequentPushesEnabled = phone.facts.frequentPushesEnabled
        body.notificationAuthorization = phone.facts.notificationAuthorization
        if phone.hasDeviceToken {
            body.deviceToken = try DeviceToken(hex: TrialStage.token("device \(phone.facts.id.text)"))
        }
        return body
    }

    /// Returns a separate person for each phone: the recording says which phones belong to the audience, but not why.
    static func user(of device: DeviceID) -> UserID { UserID(stored: device.text) }

    private mutating func play(_ item: TrialAgenda.Item) async throws {
        switch item {
        case .step(let activity, let step): try await change(activity, day.activities[activity].steps[step])
        case .idle(let activity):
            guard let endAfter = type.policy.endAfter else { return }
            _ = try await stage.store.commit(
                EndIdleActivity(app: stage.app, id: id(activity), endAfter: endAfter, now: now))
        case .joins(let key): try await audience(key, joins: true)
        case .act(let key, let deed): try await act(key, deed)
        case .reports(let key, let card):
            guard cards[key]?.isStill(card) == true else { return }
            try await report(key, .active)
        case .token(let key, let card):
            guard cards[key]?.isStill(card) == true else { return }
            cards[key]?.takeToken()
            try await report(key, .active)
        case .confirmsEnd(let key, let card):
            guard cards[key]?.isStill(card) == true else { return }
            try await report(key, .ended)
        }
    }

    func id(_ activity: Int) -> ActivityID { day.activities[activity].record.id }

    private mutating func change(_ index: Int, _ step: RecordedActivity.Step) async throws {
        switch step.change {
        case .set(let content, let reopens):
            let command = SetDesiredState(
                app: stage.app.bundleID, id: id(index), type: type, body: body(index, content, reopens: reopens),
                now: now)
            guard case .success(let reply) = try await stage.store.commit(command) else { return refuse() }
            let isFirst = numbers[index] == nil
            numbers[index] = reply.number
            places[reply.number] = index
            changed.insert(index)
            if isFirst, step.at < day.from { try await standAsBefore(index) }
            if let endAfter = type.policy.endAfter { agenda.add(.idle(activity: index), at: now + endAfter) }
        case .end(let content):
            let command = EndActivity(
                app: stage.app, id: id(index), state: content.state,
                alert: content.alert.map(SetDesiredState.AlertWish.init), dismissal: .systemDefault, now: now)
            guard case .success = try await stage.store.commit(command) else { return refuse() }
        }
    }

    private mutating func refuse() {
        if isCounted { figures.refused += 1 }
    }

    private func body(_ index: Int, _ content: ChangeContent, reopens: Bool) -> SetDesiredState.Body {
        let recorded = day.activities[index]
        var body = SetDesiredState.Body(state: content.state)
        body.alert = content.alert.map(SetDesiredState.AlertWish.init)
        body.priority = content.priority
        body.relevance = content.relevance
        body.staleAt = content.staleAt
        body.staleAfter = content.staleAfter
        body.fallback = recorded.record.fallback
        body.reopen = reopens
        // Values that differ from the present policy came from calls, so they stay. All others follow the trial's
        // policy.
        if recorded.record.start != present.policy.start { body.start = recorded.record.start }
        if recorded.record.restart != present.policy.restart { body.restart = recorded.record.restart }
        guard numbers[index] == nil else { return body }
        body.attributes = recorded.attributes
        body.devices = .all
        body.users = recorded.cards.filter { $0.value.joinsAt.map { $0 <= now } ?? true }.keys.sorted()
            .compactMap { day.phones[$0].map { Self.user(of: $0.facts.id) } }
        return body
    }

    // MARK: - Consequences

    /// Records the phones that the server holds back after a change at this instant.
    private mutating func lookAtThoseWhoWait() async throws {
        defer { changed = [] }
        guard isCounted else { return }
        for index in changed {
            guard let number = numbers[index],
                let state = try await stage.store.activity(stage.app.bundleID, id(index)), let content = state.content
            else { continue }
            let desired = state.desired(type, content)
            for phone in try await stage.store.phones(of: number, after: -1, limit: day.activities[index].cards.count) {
                guard let code = holdingBack(phone, desired) else { continue }
                held[code, default: []].insert(TrialCardKey(activity: index, device: phone.device.key))
            }
        }
    }

    /// Returns the reason why the server holds back the push to a phone, or `nil` if it does not, or only waits for an
    /// answer.
    private func holdingBack(
        _ phone: PhoneSituation, _ desired: DesiredSituation
    ) -> LiveActivityCore.Reason.Code? {
        switch Reconciler.decide(desired, phone, now: now) {
        case .wait(_, let reason):
            switch reason.code {
            case .quietHours, .startTokenSuspect, .requesting, .startGrace, .startBudget, .coalescing, .otherStartOpen:
                return reason.code
            default: return nil
            }
        // All due pushes have left, so a push that remains was held back by the claim, which alone counts a phone's
        // cards.
        case .send(let plan):
            let isCounted = type.policy.atCeiling != .ignore && desired.activity.holdUntil <= now
            return plan.kind == .start && isCounted ? .atCeiling : nil
        case .fallBack, .nothing: return nil
        }
    }

    private mutating func sent(_ push: TrialStage.Sent) {
        let (seat, number) = (push.seat, push.desired.activity.number)
        guard let index = places[number] else { return }
        if isCounted { countLowered(push) }
        let key = TrialCardKey(activity: index, device: seat.phone.device.key)
        answer(seat.plan, of: key)
    }

    /// Finds the limit that lowered a push's priority, by deciding the same push without that limit.
    private mutating func countLowered(_ push: TrialStage.Sent) {
        guard push.seat.plan.priority == .low else { return }
        func isHigh(_ change: (inout TypePolicy) -> Void) -> Bool {
            var desired = push.desired
            change(&desired.type.policy)
            guard case .send(let plan) = Reconciler.decide(desired, push.seat.phone, now: now) else { return false }
            return plan.priority == .high
        }
        if isHigh({ $0.highPriorityInterval = .zero }) {
            figures.loweredByInterval += 1
        } else if isHigh({ policy in
            policy.highPriorityInterval = .zero
            policy.budgets = .endless
        }) {
            figures.loweredByBudget += 1
        }
    }

    private func counted() async throws -> DayFigures {
        var timelines: [[HistoryEntry]] = []
        for number in numbers.values.sorted() {
            var (entries, after): ([HistoryEntry], Int64) = ([], 0)
            while true {
                try check()
                let rows = try await stage.store.history(of: number, after: after, limit: Self.page)
                for row in rows { entries += row.record.entries }
                guard rows.count == Self.page, let last = rows.last else { break }
                after = last.sequence
            }
            timelines.append(entries)
        }
        var all = DayFigures(counting: timelines, from: day.from, to: day.to)
        all.held = held.mapValues(\.count)
        all.loweredByInterval = figures.loweredByInterval
        all.loweredByBudget = figures.loweredByBudget
        all.refused = figures.refused
        return all
    }
}

extension BudgetPolicy {
    /// A budget that nothing can exhaust.
    fileprivate static let endless: Self = {
        let most = BudgetLimit(perHour: 100_000, perDay: 1_000_000)
        var policy = Self()
        (policy.high, policy.highFrequent, policy.start) = (most, most, most)
        return policy
    }()
}
