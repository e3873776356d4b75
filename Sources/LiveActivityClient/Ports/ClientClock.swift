internal import Foundation

/// The clocks of the phone.
public protocol ClientClock: Sendable {
    /// Milliseconds since 1970 by the clock that the person can set.
    var wall: Int { get }
    /// Milliseconds since any beginning. They only grow, also while the phone sleeps.
    var steady: Int { get }
    /// Returns at this moment of ``steady``.
    ///
    /// - Throws: `CancellationError`.
    func sleep(until steady: Int) async throws
}

/// The system's clocks.
public struct SystemClientClock: ClientClock {
    private let beginning = ContinuousClock.now

    /// Creates the system's clocks.
    public init() {}

    /// Milliseconds since 1970.
    public var wall: Int { Int(Date().timeIntervalSince1970 * 1_000) }

    /// Milliseconds since this value was created.
    public var steady: Int {
        let (seconds, attoseconds) = beginning.duration(to: .now).components
        return Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    }

    /// Sleeps until this moment of ``steady``.
    public func sleep(until steady: Int) async throws {
        try await ContinuousClock().sleep(until: beginning + .milliseconds(steady))
    }
}
