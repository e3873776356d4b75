public import APNSModel
internal import Synchronization

extension APNSSimulator {
    // MARK: Phones

    /// Adds a phone. Its app launches once and reports itself.
    ///
    /// - Parameter limits: Limits of this phone's iOS; `nil` uses the simulator's.
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

    /// All phones, in the order in which they were made.
    public var phones: [PhoneID] {
        engine.withWorld { world, _ in world.slots.map(\.phone.id) }
    }

    /// Returns what can be seen on a phone now.
    ///
    /// - Throws: `unknownPhone`.
    public func lockScreen(of phone: PhoneID) throws(SimulatorError) -> LockScreen {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.lockScreen(of: phone) }
    }

    /// Returns what a phone did silently, the oldest first. The latest 200 entries are kept.
    ///
    /// - Throws: `unknownPhone`.
    public func deviceLog(of phone: PhoneID) throws(SimulatorError) -> [DeviceLogEntry] {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.slot(of: phone).phone.log }
    }

    /// Returns the tokens that the app on a phone has now. Update tokens are in the cards of `lockScreen(of:)`.
    ///
    /// - Throws: `unknownPhone`.
    public func tokens(
        of phone: PhoneID
    ) throws(SimulatorError) -> (device: DeviceToken?, pushToStart: PushToStartToken?) {
        let phone = try engine.withWorld { world, _ throws(SimulatorError) in try world.slot(of: phone).phone }
        return (phone.deviceToken, phone.pushToStartToken)
    }

    /// Performs an action on a phone.
    ///
    /// - Returns: Local id of the card that `startLocally` made; `nil` if the app calls its backend first.
    /// - Throws: `unknownPhone`; `actionRefused` if iOS would not allow it.
    @discardableResult
    public func perform(_ action: PhoneAction, on phone: PhoneID) throws(SimulatorError) -> String? {
        try engine.withWorld { world, now throws(SimulatorError) in
            try world.perform(action, on: phone, now: now)
        }
    }

    // MARK: Time, keys, faults

    /// Time of APNs, and of the phones apart from their clock skew.
    public var now: UnixTime { engine.clock.now }

    /// Difference by which the simulator's clock is ahead of its source of time.
    public var clockAhead: Duration { engine.clock.ahead }

    /// Advances the clock at once. Work that becomes due happens in order. Connections and TLS do not notice.
    ///
    /// - Throws: `badValue` for a negative duration, because a phone's history cannot be undone, and for more than ten
    ///   years.
    public func advance(by duration: Duration) throws(SimulatorError) {
        guard duration >= .zero, duration <= .seconds(10 * 366 * 86_400) else {
            throw SimulatorError(.badValue, "time can only move forward, by at most ten years at once")
        }
        engine.clock.advance(by: duration)
        engine.withWorld { _, _ in }
    }

    /// Accepts provider tokens of this key. A key with the same id is replaced.
    public func add(_ key: ProviderKey) {
        engine.withWorld { world, _ in world.directory.keys[key.keyID] = key }
    }

    /// Stops accepting provider tokens of a key.
    public func removeKey(_ keyID: String) {
        engine.withWorld { world, _ in world.directory.keys[keyID] = nil }
    }

    /// The faults in force. Setting them restarts their counts and times. Rules after the first 256 are dropped.
    public var faults: [FaultRule] {
        get { engine.withWorld { world, _ in world.faults.rules } }
        set { engine.withWorld { world, now in world.faults = FaultList(newValue, at: now) } }
    }

    /// Ends every connection with GOAWAY, after the pushes it still owes an answer are answered.
    ///
    /// - Parameters:
    ///   - reason: Value of `reason` in the JSON debug data.
    ///   - lastStreamID: Last stream that is answered, 0 to 2^31 - 1; `nil` means the last one that arrived. Pushes
    ///     above it get no answer, whether they took effect or not. The highest number only warns: connections take
    ///     pushes until a second call (RFC 9113 section 6.8).
    public func goAway(reason: String = "Shutdown", lastStreamID: Int? = nil) {
        connections.tell(.goAway(reason: reason, last: lastStreamID.map { min(max(0, $0), Self.largestNumber) }))
    }

    /// Limits the streams of every open connection, until a fault changes that. New connections have the configured
    /// number.
    ///
    /// - Parameter streams: Value of `SETTINGS_MAX_CONCURRENT_STREAMS`, 0 to 2^31 - 1.
    public func limitStreams(to streams: Int) {
        connections.tell(.limitStreams(min(max(0, streams), Self.largestNumber)))
    }

    /// Largest stream id, which also bounds the number of streams.
    static let largestNumber = Int(Int32.max)

    /// Resets every TCP connection. Pushes that were not answered yet get no answer.
    public func abortConnections() {
        connections.tell(.abort)
    }

    /// Number of open connections.
    public var connectionCount: Int { connections.count }

    // MARK: What came in

    /// The latest received pushes, the oldest first.
    public var received: [ReceivedPush] {
        engine.withWorld { world, _ in Array(world.received.latest) }
    }

    /// Number of pushes received since the start.
    public var receivedCount: Int {
        engine.withWorld { world, _ in world.receivedCount }
    }

    /// Number of bytes that clients have sent since the start, after TLS: the HTTP/2 frames of pushes, broadcasts and
    /// channel management, with their headers.
    public var receivedBytes: Int { connections.receivedBytes }

    /// Returns the changes from now on, until the simulator stops or the reader leaves. A slow reader loses the oldest
    /// of 1,024 changes.
    public func changes(of phone: PhoneID? = nil) -> AsyncStream<SimulatorChange> {
        engine.feed.changes(of: phone, keeping: 1024)
    }

    /// Waits, without polling, until a lock screen meets a condition.
    ///
    /// - Parameter timeout: Longest wait, in real time.
    /// - Returns: The lock screen that met the condition.
    /// - Throws: `unknownPhone`; `timedOut`; `notRunning` if the simulator stops; `CancellationError`.
    @discardableResult
    public func wait(
        for phone: PhoneID, timeout: Duration = .seconds(10), until isWanted: @escaping @Sendable (LockScreen) -> Bool
    ) async throws -> LockScreen {
        try await wait(of: phone, timeout: timeout) {
            let screen = try self.lockScreen(of: phone)
            return isWanted(screen) ? screen : nil
        }
    }

    /// Waits, without polling, until the received pushes meet a condition.
    ///
    /// - Parameter timeout: Longest wait, in real time.
    /// - Throws: `timedOut`; `notRunning` if the simulator stops; `CancellationError`.
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
        // Only the latest change matters, because the probe reads the present state.
        let changes = engine.feed.changes(of: phone, keeping: 1)
        return try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask {
                if let value = try probe() { return value }
                for await _ in changes {
                    if let value = try probe() { return value }
                }
                try Task.checkCancellation()
                throw SimulatorError(.notRunning, "the simulator stopped before the awaited change came")
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw SimulatorError(.timedOut, "the awaited change did not come within \(timeout)")
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}
