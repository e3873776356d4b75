import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport

/// Everything in one history, and its only clock, on one thread.
///
/// It holds the processes of the server with their store, an APNs, phones, a backend, and the invariants.
final class World: @unchecked Sendable {
    /// True time in milliseconds since the history began. No clock of the history shows it.
    private(set) var now: Int64 = 0
    var agenda = Agenda()
    /// Dice of the step that is being played.
    var dice: SeededDice
    /// `true` if no random faults occur.
    var isCalm = false
    let scenery: Scenery
    var store = ModelStore()
    var nodes: [Node] = []
    var nodesMade: Int64 = 0
    var apns = VirtualAPNS()
    var channels = VirtualChannels()
    var phones: [Phone] = []
    var backend = Backend()
    var provider = Provider()
    var listener = Listener()
    /// Number of activities that have been invented.
    var invented = 0
    var faults = Faults()
    var timeline: Timeline
    var observer = Observer()
    /// Commands to be run again together.
    var group: CommandGroup?
    let invariants: [any Invariant]
    private(set) var violations: [Violation] = []
    private(set) var counts = Counts()
    private let trap: Trap?

    /// Faults in effect now.
    struct Faults {
        /// Percentage of commits that fail.
        var store = 0
        /// Offset of the server's wall clock from true time, in milliseconds.
        var serverClock: Int64 = 0
        /// Latest time that the clock showed when it was set.
        var latestTime = Sample.now
        /// True time of the last clock step.
        var clockSteppedAt = Int64.min
    }

    init(seed: UInt64, keepsTimeline: Bool, trap: Trap? = nil) {
        self.trap = trap
        dice = SeededDice(seed: seed)
        scenery = Scenery(&dice)
        timeline = Timeline(isKept: keepsTimeline)
        invariants = Invariants.all()
    }

    // MARK: - Time

    /// True time as a correct wall clock shows it.
    var trueTime: UnixTime { Sample.now + .milliseconds(now) }
    /// Time by the server's wall clock.
    var serverTime: UnixTime { trueTime + .milliseconds(faults.serverClock) }

    /// Lets time pass, with all its events.
    func advance(by milliseconds: Int64) {
        let end = now + milliseconds
        work()
        while violations.isEmpty, let next = agenda.take(upTo: end) {
            now = max(now, next.at)
            next.action()
            work()
        }
        now = max(now, end)
    }

    func after(_ milliseconds: Int64, in node: Node? = nil, _ action: @escaping () -> Void) {
        agenda.add(at: now + milliseconds, in: node, action)
    }

    /// Runs every process until it has nothing left to do now.
    func work() {
        var jobs = 0
        while let node = nodes.first(where: { !$0.executor.isIdle && $0.frozenUntil == nil }) {
            node.executor.step { [self] count in
                // Jobs usually run in the order in which they became ready, and sometimes in another valid order.
                isCalm || dice.roll(8) > 0 ? 0 : dice.roll(count)
            }
            counts.jobs += 1
            jobs += 1
            guard jobs < Self.mostJobs else { return violate(.newestArrives, "a process works without end") }
        }
        nodes.removeAll(where: \.isOver)
    }

    /// Bound that no process reaches between two instants.
    private static let mostJobs = 50_000

    // MARK: - Chance

    /// Returns `true` for a random fault, `often` times out of `all`. Never `true` while the world is calm.
    func chance(_ often: Int, in all: Int = 100) -> Bool { !isCalm && often > 0 && dice.roll(all) < often }

    func pick<C: RandomAccessCollection>(_ choices: C) -> C.Element { dice.pick(choices) }

    enum StoreFate { case works, fails, unknownAndKept, unknownAndLost }

    func storeFate() -> StoreFate {
        guard !isCalm, faults.store > 0, dice.chance(faults.store) else { return .works }
        return dice.pick([.fails, .fails, .unknownAndKept, .unknownAndLost])
    }

    // MARK: - Commits

    /// Runs a command on the current rows, shows it to the invariants, and wakes the dispatchers.
    func commit<C: Command>(_ command: C, by node: Node) -> Result<C.Reply, Refusal> {
        commit(command, claiming: nil, by: node).result
    }

    /// Runs a command and, in the same transaction, a claim of the work that it makes due.
    private func commit<C: Command>(
        _ command: C, claiming claim: ClaimWork?, by node: Node, commits: (C.Reply) -> Void = { _ in }
    ) -> (result: Result<C.Reply, Refusal>, claimed: ClaimWork.Reply?) {
        counts.commits += 1
        if command.isAlone || claim != nil { closeGroup() } else { openGroup() }
        defer { if group?.isFull ?? false { closeGroup() } }
        let result: Result<C.Reply, Refusal>
        var claimed: ClaimWork.Reply?
        let eventsBefore = store.events.count
        if let claim {
            let made: ModelStore.AtOnce?
            (result, made) = store.run(command, claiming: claim)
            if case .success(let reply) = result { commits(reply) }
            if let made {
                claimed = made.reply
                count(.claimedAtOnce)
                watch(made.reply, made.before, node)
                if !made.isOrdinary(claim, store) {
                    violate(.acceptedIsKept, "a claim comes to something else at once than after the commit")
                }
            }
        } else if command.rank == .write {
            result = store.run(command)
            if case .success(let reply) = result { commits(reply) }
        } else {
            // Keeping the earlier rows for the invariants makes the store copy what it changes.
            let before = store.rows
            result = store.run(command)
            watch(command, result, before: before, by: node)
        }
        if !command.isAlone { group?.add(command, result) }
        if command.rank != .claim, let due = store.workDueAt {
            // A wake-up is a hint: sometimes another process does not get it.
            for other in nodes where other.isAlive && (other === node || !chance(300, in: 1000)) {
                if other !== node { count(.wokenByAnother) }
                other.wakeUp?.announce(due)
            }
        }
        wakeProviders(after: command.rank)
        wakeChannels()
        wakeListeners(by: node, since: eventsBefore)
        return (result, claimed)
    }

    enum Answer<Reply: Sendable> {
        case answered(Result<Reply, Refusal>)
        /// Nobody knows whether the commit was kept.
        case lost
        var reply: Reply? {
            if case .answered(.success(let reply)) = self { reply } else { nil }
        }
    }

    /// Makes a call from outside to a process that is up.
    ///
    /// - Parameters:
    ///   - commits: Receives the reply of a change before anything else is seen of its transaction, such as a claim of
    ///     the work that it makes due. It must not change anything.
    ///   - stands: Receives the reply of a committed change, even if the caller never gets it.
    func call<C: Command>(
        _ command: C, commits: (C.Reply) -> Void = { _ in }, stands: (C.Reply) -> Void = { _ in }
    ) -> Answer<C.Reply> {
        guard let node = nodes.first(where: \.isUp), !chance(30, in: 1000) else { return .lost }
        node.reach(.writeBeforeCommit)
        guard node.isAlive else { return .lost }
        let fate = storeFate()
        if fate == .fails || fate == .unknownAndLost { return .lost }
        let open = command.rank == .write && !command.isAlone && chance(500, in: 1000) ? node.claims?() : nil
        if open != nil { node.reach(.claimBeforeCommit) }
        guard node.isAlive else { return .lost }
        let (result, claimed) = commit(command, claiming: open?.claim, by: node, commits: commits)
        if case .success(let reply) = result { stands(reply) }
        node.reach(.writeAfterCommit)
        if claimed != nil { node.reach(.claimAfterCommit) }
        guard node.isAlive else { return .lost }
        open?.end(fate == .works ? claimed : nil)
        if fate == .works, let claimed { see(.claimReturned(claimed.flights, node)) }
        guard fate == .works, !chance(40, in: 1000) else { return .lost }
        return .answered(result)
    }

    // MARK: - Processes

    func startNode() {
        nodesMade += 1
        let node = Node(world: self, number: nodesMade)
        nodes.append(node)
        node.start()
    }

    /// Ends all processes, so that nothing remains after the history.
    func end() {
        for node in nodes { node.die("with the history") }
        var rounds = 0
        while let node = nodes.first(where: { !$0.executor.isIdle }), rounds < Self.mostJobs {
            node.executor.step { _ in 0 }
            rounds += 1
        }
        counts.leaked += nodes.count { !$0.isOver }
        nodes = []
        agenda = Agenda()
    }

    // MARK: - Watching

    func note(_ who: String, _ text: @autoclosure () -> String) { timeline.note(now, who, text()) }

    func see(_ event: Observation) {
        for invariant in invariants { invariant.see(event, in: self) }
        if let trap, violations.isEmpty, trap.isShut(counts) { violate(trap.rule, "a trap is shut") }
    }

    func violate(_ rule: Rule, _ text: String) {
        violations.append(Violation(rule: rule, text: text))
        timeline.note(now, "!!!!!!!!", "VIOLATED \(rule.title): \(text)")
    }

    func count(_ change: (inout Counts) -> Void) { change(&counts) }

    func count(_ what: Happening) { counts.happenings[what, default: 0] += 1 }
}
