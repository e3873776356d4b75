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
    private let reportLimits: ReportLimits
    private let logger: Logger
    /// Phones with something to report; each is in it once at most, so that the number of phones bounds it.
    private let waitingPhones: AsyncStream<PhoneID>
    private let waitingPhonesInput: AsyncStream<PhoneID>.Continuation

    init(clock: SimulatorClock, world: World, backend: (any PhoneBackend)?, logger: Logger) {
        self.clock = clock
        reportLimits = world.limits.reports
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
            case .deliverReports(let phone): waitingPhonesInput.yield(phone)
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

    /// Carries the reports of all phones to the backend, several phones at a time, each phone's in order.
    func carryReports() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await phone in waitingPhones {
                if running >= reportLimits.concurrent {
                    await group.next()
                    running -= 1
                }
                group.addTask { await self.carryReports(of: phone) }
                running += 1
            }
        }
    }

    private func carryReports(of phone: PhoneID) async {
        await carryCalls(of: phone)
        guard let backend else { return }
        while let report = withWorld({ world, _ in world.nextReport(of: phone) }) {
            var hasArrived = true
            do {
                try await Self.carry(report, of: phone, to: backend)
            } catch {
                hasArrived = false
                logger.debug("a phone's report did not reach its backend", metadata: ["phone": "\(phone)"])
            }
            let arrived = hasArrived
            withWorld { world, now in world.reportEnded(of: phone, arrived: arrived, now: now) }
            if !arrived { return }
        }
    }

    /// What the client on a phone asks: it has one call under way at a time, and makes the next when it has an answer.
    private func carryCalls(of phone: PhoneID) async {
        while let call = withWorld({ world, _ in world.takeCall(of: phone) }) {
            var answer: PhoneAnswer?
            if let backend, withWorld({ world, _ in world.isOnline(phone) }) {
                let request = PhoneRequest(
                    method: call.call.method.rawValue, path: call.call.path, body: call.call.body)
                if let response = try? await backend.call(phone, request) {
                    answer = PhoneAnswer(status: response.status, body: response.body, date: response.date)
                }
            }
            let given = answer
            withWorld { world, now in world.answer(call, of: phone, given, now: now) }
        }
    }

    private static func carry(
        _ report: PhoneReport, of phone: PhoneID, to backend: any PhoneBackend
    ) async throws {
        // What the backend wants shown comes back too; the simulator's phones wait for the push.
        switch report {
        case .register(let report): _ = try await backend.register(phone, report)
        case .pushToStartToken(let type, let token):
            _ = try await backend.pushToStartToken(phone, type: type, token: token)
        case .instance(let report): _ = try await backend.instance(phone, report)
        case .inventory(let sequence, let instances):
            _ = try await backend.inventory(phone, sequence: sequence, instances: instances)
        case .signOut: try await backend.signOut(phone)
        }
    }

    func finish() {
        waitingPhonesInput.finish()
        feed.finish()
        crowdWaits.finish()
    }
}
