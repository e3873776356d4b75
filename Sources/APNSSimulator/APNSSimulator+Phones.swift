public import APNSModel
internal import Synchronization

extension APNSSimulator {
    // MARK: Phones

    /// Makes a phone; its app is launched once and reports itself.
    ///
    /// - Parameter limits: How generous this phone's iOS is; the simulator's standard when `nil`.
    /// - Throws: `phoneExists`, `tooManyPhones`.
    @discardableResult
    public func addPhone(
        _ specification: PhoneSpecification, limits: DeviceLimits? = nil
    ) throws(SimulatorError) -> PhoneID {
        let limits = limits ?? configuration.deviceLimits
        return try engine.withWorld { world, now throws(SimulatorError) in
            try world.add(specification, limits: limits, now: now)
        }
    }

    /// Every phone, in the order in which they were made.
    public var phones: [PhoneID] {
        engine.withWorld { world, _ in world.slots.map(\.phone.id) }
    }

    /// What can be seen on a phone now.
    ///
    /// - Throws: `unknownPhone`.
    public func lockScreen(of phone: PhoneID) throws(SimulatorError) -> LockScreen {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.lockScreen(of: phone) }
    }

    /// What a phone did in silence, the oldest first; the latest 200 are kept.
    ///
    /// - Throws: `unknownPhone`.
    public func deviceLog(of phone: PhoneID) throws(SimulatorError) -> [DeviceLogEntry] {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.slot(of: phone).phone.log }
    }

    /// The tokens that the app on a phone has in hand now. Update tokens are in the cards of `lockScreen(of:)`.
    ///
    /// - Throws: `unknownPhone`.
    public func tokens(
        of phone: PhoneID
    ) throws(SimulatorError) -> (device: DeviceToken?, pushToStart: PushToStartToken?) {
        let phone = try engine.withWorld { world, _ throws(SimulatorError) in try world.slot(of: phone).phone }
        return (phone.deviceToken, phone.pushToStartToken)
    }

    /// Does something on a phone.
    ///
    /// - Returns: The local id of the card that `startLocally` made, unless the app tells its backend first.
    /// - Throws: `unknownPhone`; `actionRefused` when iOS would not let it happen.
    @discardableResult
    public func perform(_ action: PhoneAction, on phone: PhoneID) throws(SimulatorError) -> String? {
        try engine.withWorld { world, now throws(SimulatorError) in
            try world.perform(action, on: phone, now: now)
        }
    }

    // MARK: Time, keys, faults

    /// What time it is for APNs and, but for their skew, for the phones.
    public var now: UnixTime { engine.clock.now }

    /// How far the simulator's clock is ahead of the one it was given.
    public var clockAhead: Duration { engine.clock.ahead }

    /// Lets time pass at once: what falls due meanwhile happens in order. Connections and TLS do not notice.
    ///
    /// - Throws: `badValue` for a negative duration: a phone's history cannot be undone.
    public func advance(by duration: Duration) throws(SimulatorError) {
        guard duration >= .zero, duration <= .seconds(10 * 366 * 86_400) else {
            throw SimulatorError(.badValue, "time passes forwards, at most ten years at once")
        }
        engine.clock.advance(by: duration)
        engine.withWorld { _, _ in }
    }

    /// Takes provider tokens of this key too; one with the same id is replaced.
    public func add(_ key: ProviderKey) {
        engine.withWorld { world, _ in world.directory.keys[key.keyID] = key }
    }

    /// Takes provider tokens of that key no longer.
    public func removeKey(_ keyID: String) {
        engine.withWorld { world, _ in world.directory.keys[keyID] = nil }
    }

    /// The faults in force; setting them starts their counts and times anew. The first 256 count.
    public var faults: [FaultRule] {
        get { engine.withWorld { world, _ in world.faults.rules } }
        set { engine.withWorld { world, now in world.faults = FaultList(newValue, at: now) } }
    }

    /// Ends every connection with GOAWAY after what it owes is answered.
    ///
    /// - Parameters:
    ///   - reason: The JSON `reason` in its debug data.
    ///   - lastStreamID: The last stream that is answered, 0 to 2^31 - 1; the last one that came when `nil`. What came
    ///     above it has no answer, whether it took effect or not. The highest number only warns: connections take
    ///     pushes until a second call (RFC 9113 section 6.8).
    public func goAway(reason: String = "Shutdown", lastStreamID: Int? = nil) {
        connections.tell(.goAway(reason: reason, last: lastStreamID.map { min(max(0, $0), Self.largestNumber) }))
    }

    /// Gives every open connection this many streams, now and until a fault says otherwise; new ones have the
    /// configuration's.
    ///
    /// - Parameter streams: `SETTINGS_MAX_CONCURRENT_STREAMS`, 0 to 2^31 - 1.
    public func limitStreams(to streams: Int) {
        connections.tell(.limitStreams(min(max(0, streams), Self.largestNumber)))
    }

    /// The largest number of a stream, and what is enough for a number of them.
    static let largestNumber = Int(Int32.max)

    /// Resets every TCP connection: what was not answered yet never is.
    public func abortConnections() {
        connections.tell(.abort)
    }

    /// How many connections are open.
    public var connectionCount: Int { connections.count }

    // MARK: What came in

    /// The latest pushes, the oldest first.
    public var received: [ReceivedPush] {
        engine.withWorld { world, _ in Array(world.received.latest) }
    }

    /// How many pushes ever came in.
    public var receivedCount: Int {
        engine.withWorld { world, _ in world.receivedCount }
    }

    /// Changes from now on, until the simulator stops or the reader leaves; a slow reader misses the oldest of 1,024.
    public func changes(of phone: PhoneID? = nil) -> AsyncStream<SimulatorChange> {
        engine.feed.changes(of: phone, keeping: 1024)
    }

    /// Waits, without polling, until a lock screen is as wanted.
    ///
    /// - Parameter timeout: In real time.
    /// - Returns: The lock screen that was.
    /// - Throws: `unknownPhone`, `timedOut`, `notRunning` when the simulator stops; `CancellationError`.
    @discardableResult
    public func wait(
        for phone: PhoneID, timeout: Duration = .seconds(10), until isWanted: @escaping @Sendable (LockScreen) -> Bool
    ) async throws -> LockScreen {
        try await wait(of: phone, timeout: timeout) {
            let screen = try self.lockScreen(of: phone)
            return isWanted(screen) ? screen : nil
        }
    }

    /// Waits, without polling, until the record of received pushes is as wanted.
    ///
    /// - Parameter timeout: In real time.
    /// - Throws: `timedOut`, `notRunning` when the simulator stops; `CancellationError`.
    @discardableResult
    public func waitForPushes(
        timeout: Duration = .seconds(10), until isWanted: @escaping @Sendable ([ReceivedPush]) -> Bool
    ) async throws -> [ReceivedPush] {
        try await wait(of: nil, timeout: timeout) {
            let received = self.received
            return isWanted(received) ? received : nil
        }
    }

    private func wait<Value: Sendable>(
        of phone: PhoneID?, timeout: Duration, probe: @escaping @Sendable () throws -> Value?
    ) async throws -> Value {
        // Only the latest change matters: the probe looks at the present state.
        let changes = engine.feed.changes(of: phone, keeping: 1)
        return try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask {
                if let value = try probe() { return value }
                for await _ in changes {
                    if let value = try probe() { return value }
                }
                try Task.checkCancellation()
                throw SimulatorError(.notRunning, "the simulator stopped before it came")
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw SimulatorError(.timedOut, "it did not come within \(timeout)")
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
