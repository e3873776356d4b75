import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import TestSupport

/// The app's provider of its people's next states. It may be slow, fail, or change its mind.
struct Provider {
    static let type = "next"

    /// Step that each person should see. A person without an entry sees nothing.
    var steps: [String: Int] = [:]
    var made = 0
    /// People about whom the server may not have been notified yet.
    var untold: Set<String> = []
    /// `true` if the provider fails every other time.
    var isUnwell = false
}

extension World {
    /// Activities of the backend, and those that a provider computes.
    var subjects: [Scenery.Subject] {
        guard scenery.isProvided else { return scenery.subjects }
        let computed = phones.filter { $0.app.bundleID == Scenery.pizza }.flatMap { phone in
            phone.devices.union([phone.device]).sorted().flatMap { device in
                Scenery.people.map { provided($0, device) }
            }
        }
        return scenery.subjects + computed
    }

    /// Returns the provided activity of a person on one device.
    func provided(_ person: String, _ device: String) -> Scenery.Subject {
        let id = ProvidedActivity.id(type: Provider.type, user: Sample.user(person), device: Sample.device(device))
        return Scenery.Subject(app: Scenery.pizza, id: id.text, type: Provider.type)
    }

    /// Changes a person's state at the provider.
    func changeProvided() {
        let person = pick(Scenery.people)
        provider.made += 1
        provider.steps[person] = dice.chance(80) ? provider.made : nil
        provider.untold.insert(person)
        provider.isUnwell = chance(25)
        note("provider", "has \(provider.steps[person].map { "step \($0)" } ?? "nothing") for \(person)")
        askProvider(of: person)
    }

    /// Asks the server to compute a person's state again, as the backend.
    func askProvider(of person: String) {
        let command = AskRefresh(
            app: Scenery.pizza, users: [Sample.user(person)], types: [Provider.type],
            pace: isCalm || dice.chance(70) ? .prompt : .paced, now: serverTime)
        if case .lost = call(command) { return note("provider", "  no answer") }
        provider.untold.remove(person)
    }

    /// Wakes the refresh services if a commit made a refresh due.
    func wakeProviders(after rank: CommandRank) {
        guard scenery.isProvided, rank != .claim, !store.lastChanges.refreshes.isEmpty else { return }
        for node in nodes where node.isAlive { node.refreshWakeUp?.yield() }
    }
}

extension Node {
    /// Returns the service that asks the provider, as in the server.
    func refreshes() -> RefreshService? {
        guard world.scenery.isProvided, let type = world.scenery.app(Scenery.pizza).types[Provider.type] else {
            return nil
        }
        let ask: RefreshService.Provider.Ask = { [self] question throws(RefreshFailure) in try await answer(question) }
        let provider = RefreshService.Provider(app: Scenery.pizza, type: type, ask: ask)
        return RefreshService(
            store: NodeStore(node: self), providers: [provider], zones: ZoneTable(["UTC": .utc]), time: time,
            clock: VirtualClock(node: self), node: number, dice: { [world] in world.dice.next() }, logger: logger)
    }

    private func answer(_ question: RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer? {
        if world.chance(300, in: 1000) {
            do { try await rest(until: world.now + world.pick([5, 60, 900, 9000, 12_000])) } catch {
                throw RefreshFailure(.timeout, "cancelled")
            }
        }
        if world.provider.isUnwell, world.chance(50) {
            world.count(.providerFailed)
            throw RefreshFailure(world.pick([.unavailable, .threw]), "as the dice say")
        }
        world.count(.provided)
        guard let step = world.provider.steps[question.user.text] else { return nil }
        var answer = RefreshAnswer(state: Scenery.state(step))
        answer.attributes = ["shop": "next"]
        answer.memo = .number(JSONNumber(step))
        answer.priority = world.pick([.low, .auto])
        if world.chance(20) { answer.askAgainAt = question.now + .seconds(300) }
        return answer
    }
}

extension NodeStore: RefreshStore {
    var refreshWakeUps: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        node.refreshWakeUp = continuation
        return stream
    }

    func refreshTimes(of app: BundleID, _ type: String) async throws(StorageError) -> RefreshTimes {
        try await read()
        let store = node.world.store
        return RefreshTimes(
            prompt: store.refreshTime(of: app, type, .prompt), paced: store.refreshTime(of: app, type, .paced))
    }
}
