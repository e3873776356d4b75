internal import Foundation

/// The phone's clocks.
public protocol ClientClock: Sendable {
    /// Milliseconds since 1970 by the clock that the person may set.
    var wall: Int { get }
    /// Milliseconds that only grow, also while the phone sleeps, from any beginning.
    var steady: Int { get }
    /// Returns at a moment of ``steady``.
    ///
    /// - Throws: `CancellationError`.
    func sleep(until steady: Int) async throws
}

/// The clocks of this machine.
public struct SystemClientClock: ClientClock {
    private let beginning = ContinuousClock.now

    /// The clocks of this machine.
    public init() {}

    /// Milliseconds since 1970.
    public var wall: Int { Int(Date().timeIntervalSince1970 * 1_000) }

    /// Milliseconds since this value was made.
    public var steady: Int {
        let (seconds, attoseconds) = beginning.duration(to: .now).components
        return Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    }

    /// Sleeps.
    public func sleep(until steady: Int) async throws {
        try await ContinuousClock().sleep(until: beginning + .milliseconds(steady))
    }
}
