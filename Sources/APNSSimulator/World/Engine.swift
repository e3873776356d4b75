internal import APNSModel
internal import LiveActivityRegistration
internal import Logging
internal import Synchronization

/// The shell around the world: one lock, the clock, and the execution of the world's effects.
final class Engine: Sendable {
    let clock: SimulatorClock
    let feed = ChangeFeed()
    let crowdWaits = CrowdWaits()
    private let world: Mutex<World>
    private let backend: (any PhoneBackend)?
    private let concurrentCalls: Int
    private let logger: Logger
    /// Phones with a call to deliver. Each phone has one call at a time, so the number of phones bounds the stream.
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

    /// Advances the world to the present, then runs the body on it.
    func withWorld<Value: Sendable, Failure: Error>(
        _ body: (inout World, UnixTime) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (result, effects) = world.withLock { world -> (Result<Value, Failure>, [World.Effect]) in
            // The clock is read under the lock, so that the world never sees time go back.
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

    /// Runs work that is due, at intervals.
    func keepTime(every pause: Duration) async throws {
        while true {
            try await Task.sleep(for: pause)
            withWorld { _, _ in }
        }
    }

    /// Delivers the calls of all phones to the backend: several phones at a time, and each phone's calls in order.
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

    /// Delivers the calls of one phone. Its app has one call under way at a time, and makes the next after the answer.
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
