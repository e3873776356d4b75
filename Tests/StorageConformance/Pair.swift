import APNSModel
import Dispatch
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import TestSupport

@testable import StorageSQL

/// The engine and the reference store side by side. Every command runs in both, with the same reply and the same
/// rows.
struct Pair {
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    var model = ModelStore()
    /// A test may put its rows in another database, and replace it.
    var engine: SQLStore
    private(set) var steps = 0
    /// `true` if the last transaction claimed the work that its commands made due.
    private var hasClaimed = false
    /// Number of flights that were claimed in the transaction of a change.
    private(set) var claimedAtOnce = 0
    /// Results that later commands use.
    var leavings = Leavings()
    /// Claim that the next transaction makes of the work that its commands make due.
    var claim: ClaimWork?
    private var gate: DispatchSemaphore?
    private var group: [Pending] = []
    private var groupsOffer: Offer?

    struct Leavings {
        var flights: [Flight] = []
        var sweeps: [SweepAudience] = []
        var notifications: [NotificationFlight] = []
        var evictions: [EvictCard] = []
        var runs: [RefreshRun] = []
        var errands: [ChannelErrand] = []
    }

    /// A command that waits for its group.
    private struct Pending {
        let title: String
        let rank: CommandRank
        let weight: Int
        let isAlone: Bool
        let job: ModelStore.Job
        let isAnswered: () -> Bool
        let take: (inout Pair) throws -> Void
    }

    init(_ engine: SQLStore) {
        self.engine = engine
    }

    /// Returns the model's reply, or `nil` for a refusal and for a command of an open group.
    ///
    /// - Throws: `Difference`, with the first step on which the two disagree.
    @discardableResult
    mutating func run<C: Command>(
        _ name: String, _ command: C, _ isSame: @escaping (C.Reply, C.Reply) -> Bool,
        then: @escaping (C.Reply, inout Leavings) -> Void = { _, _ in }
    ) async throws -> C.Reply? {
        steps += 1
        let title = "step \(steps), \(name)"
        hasClaimed = false
        let offer = gate == nil && command.rank == .write && !command.isAlone ? offer() : nil
        let answer = engine.submit(command)
        func take(_ pair: inout Pair) throws -> C.Reply? {
            try pair.take(title, pair.model.run(command), answer.value, isSame, then)
        }
        guard gate == nil else {
            group.append(
                Pending(
                    title: title, rank: command.rank, weight: command.weight, isAlone: command.isAlone,
                    job: ModelStore.Job(command), isAnswered: { answer.value != nil },
                    take: { _ = try take(&$0) }))
            return nil
        }
        _ = await answer.result()
        let before = model
        let reply = try take(&self)
        if let offer { try await check(offer, of: [ModelStore.Job(command)], before, title) }
        try await compare(title)
        return reply
    }

    // MARK: - Claims at once

    /// A claim that was offered to the engine.
    private final class Offer: Sendable {
        struct State {
            var isTaken = false
            var isOver = false
            var reply: ClaimWork.Reply?
        }

        let claim: ClaimWork
        private let state = Mutex(State())

        init(_ claim: ClaimWork) {
            self.claim = claim
        }

        func take() -> ClaimAtOnce? {
            let isFirst = state.withLock { state in
                defer { state.isTaken = true }
                return !state.isTaken
            }
            return isFirst ? ClaimAtOnce(claim) { self.end($0) } : nil
        }

        private func end(_ reply: ClaimWork.Reply?) {
            state.withLock { state in
                state.reply = reply
                state.isOver = true
            }
        }

        /// Waits until the engine has ended the claim, and returns its reply.
        func reply() async -> ClaimWork.Reply? {
            while state.withLock({ $0.isTaken && !$0.isOver }) { await Task.yield() }
            return state.withLock(\.reply)
        }
    }

    private mutating func offer() -> Offer? {
        guard let claim else { return nil }
        self.claim = nil
        let offer = Offer(claim)
        engine.claimAtOnce(from: { offer.take() })
        return offer
    }

    /// Compares what the engine claimed with the model's claim in one transaction with the commands, and after them.
    private mutating func check(
        _ offer: Offer, of jobs: [ModelStore.Job], _ before: ModelStore, _ title: String
    ) async throws {
        let reply = await offer.reply()
        engine.claimAtOnce(from: nil)
        var twin = before
        let expected = twin.run(together: jobs, claiming: offer.claim)
        guard let expected, let reply, expected.reply.isSame(as: reply) else {
            guard expected == nil, reply == nil else {
                throw Difference(
                    description: """
                        \(title): the model claims \(expected.map { "\($0.reply)" } ?? "nothing") at once, the engine \
                        \(reply.map { "\($0)" } ?? "nothing")
                        """)
            }
            return
        }
        hasClaimed = true
        claimedAtOnce += expected.reply.flights.count
        let after = model.run(offer.claim, of: expected)
        guard after.isSame(as: reply) else {
            throw Difference(
                description: """
                    \(title): a claim at once and one after the commit differ
                    \(reply.flights.flatMap(\.seats).map { "\($0.phone) \($0.plan) \($0.timestamp)" })
                    \(after.flights.flatMap(\.seats).map { "\($0.phone) \($0.plan) \($0.timestamp)" })
                    """)
        }
        leavings.flights += reply.flights
        leavings.evictions += reply.evictions
    }

    private mutating func take<Reply>(
        _ title: String, _ expected: Result<Reply, Refusal>,
        _ told: Result<Result<Reply, Refusal>, StorageError>?, _ isSame: (Reply, Reply) -> Bool,
        _ then: (Reply, inout Leavings) -> Void
    ) throws -> Reply? {
        switch (expected, told) {
        case (.success(let left), .success(.success(let right))?) where isSame(left, right):
            then(left, &leavings)
            return left
        case (.failure(let left), .success(.failure(let right))?) where left == right: return nil
        default:
            throw Difference(
                description: "\(title): the model says \(expected), the engine \(told.map { "\($0)" } ?? "nothing")")
        }
    }

    private func compare(_ title: String) async throws {
        let stored = try await AllRows(engine)
        let differences = model.rows.differences(from: stored.rows) + model.rows.laneFaults
        guard differences.isEmpty else {
            throw Difference(
                description: "\(title): model | the engine\n" + differences.sorted().joined(separator: "\n"))
        }
        guard Dictionary(grouping: model.history, by: \.activity) == stored.history else {
            throw Difference(description: "\(title): the timelines differ")
        }
        guard model.events == stored.events else {
            throw Difference(description: "\(title): the events differ: \(model.events) | \(stored.events)")
        }
    }

    // MARK: - Groups

    /// Holds the writer, so that the next commands wait and share a transaction.
    mutating func open() {
        gate = engine.block()
        groupsOffer = offer()
    }

    /// Releases the writer. The model runs the same commands one by one, in the order in which a group takes them.
    ///
    /// - Parameter mayPart: `true` if the group may take several transactions.
    mutating func close(mayPart: Bool = false) async throws {
        guard let gate else { return }
        self.gate = nil
        let commits = engine.counters.statistics.commits
        gate.signal()
        let all = group.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map(\.element)
        group = []
        for one in all { while !one.isAnswered() { await Task.yield() } }
        let title = all.map(\.title).joined(separator: "; ")
        let others = all.filter { !$0.isAlone }
        let before = model
        for one in others { try one.take(&self) }
        if let groupsOffer {
            let mayClaim = others.contains { $0.rank == .write }
            try await check(groupsOffer, of: mayClaim ? others.map(\.job) : [], before, title)
        }
        groupsOffer = nil
        for one in all where one.isAlone { try one.take(&self) }
        try await compare(title)
        // One commit for the job that held the writer, one for the group with a claim, and one for each further claim.
        let claims = all.count { $0.rank == .claim }
        let made = engine.counters.statistics.commits - commits
        let least = 1 + max(claims, claims < all.count ? 1 : 0)
        // Two sweeps exceed the weight of a group.
        let isTooMuch = all.reduce(0) { $0 + $1.weight } > WriterQueue.maximumWeight
        guard all.isEmpty || made == least || (mayPart || isTooMuch) && (least...1 + all.count).contains(made) else {
            throw Difference(description: "\(made) commits for \(title)")
        }
    }

    /// Runs the command after a preview, which must have announced the same result. The reply comes with the phones,
    /// as reads then find them.
    mutating func runAsPreviewed<C: Command>(
        _ name: String, _ command: C, of activity: ActivityID, in app: BundleID
    ) async throws where C.Reply: Equatable {
        guard gate == nil else {
            try await runWithPhones(name, command, of: activity, in: app, ==)
            return
        }
        let all = PhoneStretch(after: -1, limit: 100)
        let preview = try await engine.preview(command, of: activity, in: app, phones: [all])
        let reply = try await runWithPhones(name, command, of: activity, in: app, ==)
        // A preview, and the answer to a command, do not know what is claimed at once.
        guard !hasClaimed else { return }
        guard let told = try? preview.get() else {
            guard reply == nil else { throw Difference(description: "step \(steps), \(name): the preview refused") }
            return
        }
        let state = try await engine.activity(app, activity)
        let phones = try await engine.phones(of: told.state.record.number, after: -1, limit: 100)
        guard told.reply == reply, told.state == state, told.phones == [phones] else {
            throw Difference(description: "step \(steps), \(name): previewed \(told) | is \(phones)")
        }
        let both = try await engine.activityWithPhones(app, activity)
        guard let both, both.state == state, both.phones == phones else {
            throw Difference(description: "step \(steps), \(name): read together \(String(describing: both))")
        }
    }

    /// Runs the command. Its reply must come with the phones that a read then finds.
    @discardableResult
    mutating func runWithPhones<C: Command>(
        _ name: String, _ command: C, of activity: ActivityID, in app: BundleID,
        _ isSame: @escaping (C.Reply, C.Reply) -> Bool
    ) async throws -> C.Reply? {
        let asked = WithPhones(command, of: activity, in: app)
        guard gate == nil else {
            // After another command of the group, not everything may be loaded.
            try await run(name, asked) { left, right in
                let (phones, others) = (left.found?.phones, right.found?.phones)
                return isSame(left.reply, right.reply) && left.found?.state == right.found?.state
                    && (phones == others || phones == nil || others == nil)
            }
            return nil
        }
        let before = try await engine.activityWithPhones(app, activity)
        let answer = try await run(name, asked) { left, right in
            isSame(left.reply, right.reply) && left.found?.state == right.found?.state
                && left.found?.phones == right.found?.phones
        }
        guard let answer else { return nil }
        guard !hasClaimed else { return answer.reply }
        let now = try await engine.activityWithPhones(app, activity)
        let phones = now?.phones ?? []
        // What a start needs is loaded only for a phone that could be started before the command.
        let mayLack =
            before?.phones?.count != phones.count
            || phones.contains { $0.card.needsDevice(in: now?.state.record) }
        guard answer.found?.state == now?.state, answer.found?.phones.map({ $0 == phones }) ?? mayLack else {
            throw Difference(
                description: "step \(steps), \(name): replied with \(String(describing: answer.found)) | is \(phones)")
        }
        return answer.reply
    }

    @discardableResult
    mutating func run<C: Command>(_ name: String, _ command: C) async throws -> C.Reply? where C.Reply: Equatable {
        try await run(name, command, ==)
    }
}

extension ClaimNotifications.Reply {
    func isSame(as other: Self) -> Bool {
        let (seats, others) = (flight.seats, other.flight.seats)
        return flight.claimedAt == other.flight.claimedAt && probed == other.probed && held == other.held
            && dropped == other.dropped && seats.count == others.count
            && zip(seats, others).allSatisfy { left, right in
                left.notification == right.notification && left.addressee == right.addressee
                    && left.device == right.device && left.token == right.token
            }
    }
}
