internal import APNSModel
internal import LiveActivityRegistration
internal import Logging
internal import Synchronization

/// The shell around the world: one lock, the clock, and what the world's effects ask for.
final class Engine: Sendable {
    let clock: SimulatorClock
    let feed = ChangeFeed()
    let crowdWaits = CrowdWaits()
    private let world: Mutex<World>
    private let backend: (any PhoneBackend)?
    private let concurrentCalls: Int
    private let logger: Logger
    /// Phones with a call to carry; each has one at a time, so that the number of phones bounds it.
    private let waitingPhones: AsyncStream<PhoneID>
    private let waitingPhonesInput: AsyncStream<PhoneID>.Continuation

    init(
        clock: SimulatorClock, world: World, backend: (any PhoneBackend)?, concurrentCalls: Int, logger: Logger
    ) {
        self.clock = clock
        self.concurrentCalls = concurrentCalls
        self.world = Mutex(world)
        self.backend = backend
        self.logger = logger
        (waitingPhones, waitingPhonesInput) = AsyncStream.makeStream(of: PhoneID.self)
    }

    /// Lets the world come up to the present and does something with it.
    func withWorld<Value: Sendable, Failure: Error>(
        _ body: (inout World, UnixTime) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (result, effects) = world.withLock { world -> (Result<Value, Failure>, [World.Effect]) in
            // Read under the lock: the world never sees time go back.
            let now = clock.now
            world.advance(to: now)
            let result: Result<Value, Failure>
            do throws(Failure) {
                result = .success(try body(&world, now))
            } catch {
                result = .failure(error)
            }
            return (result, world.takeEffects())
        }
        perform(effects)
        return try result.get()
    }

    func accept(_ arrival: PushArrival, session: inout ProviderSession) -> FrontDecision {
        var copy = session
        let decision = withWorld { world, now in world.accept(arrival, session: &copy, now: now) }
        session = copy
        return decision
    }

    private func perform(_ effects: [World.Effect]) {
        for effect in effects {
            switch effect {
            case .changed(let phone): feed.publish(.phone(phone))
            case .received: feed.publish(.push)
            case .carryCalls(let phone): waitingPhonesInput.yield(phone)
            case .waitOver(let number): crowdWaits.settle(number, .success(()))
            case .waitLost(let number):
                crowdWaits.settle(number, .failure(SimulatorError(.unknownCrowd, "the crowd was removed")))
            }
        }
    }

    // MARK: Running

    /// Lets due things happen without anybody asking.
    func keepTime(every pause: Duration) async throws {
        while true {
            try await Task.sleep(for: pause)
            withWorld { _, _ in }
        }
    }

    /// Carries the calls of all phones to the backend, several phones at a time, each phone's in order.
    func carryCalls() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await phone in waitingPhones {
                if running >= concurrentCalls {
                    await group.next()
                    running -= 1
                }
                group.addTask { await self.carryCalls(of: phone) }
                running += 1
            }
        }
    }

    /// The app on a phone has one call under way at a time, and makes the next when it has an answer.
    private func carryCalls(of phone: PhoneID) async {
        while let call = withWorld({ world, _ in world.takeCall(of: phone) }) {
            var answer: PhoneAnswer?
            if let backend, withWorld({ world, _ in world.isOnline(phone) }) {
                let request = PhoneRequest(
                    method: call.call.method.rawValue, path: call.call.path, body: call.call.body,
                    credential: call.credentials.own, proof: call.call.showsProof ? call.credentials.proof : nil,
                    person: call.credentials.borrowed)
                do {
                    let response = try await backend.call(phone, request)
                    answer = PhoneAnswer(status: response.status, body: response.body, date: response.date)
                } catch {
                    logger.debug("a phone's call did not reach its backend", metadata: ["phone": "\(phone)"])
                }
            }
            let given = answer
            withWorld { world, now in world.answer(call, of: phone, given, now: now) }
        }
    }

    func finish() {
        waitingPhonesInput.finish()
        feed.finish()
        crowdWaits.finish()
    }
}
