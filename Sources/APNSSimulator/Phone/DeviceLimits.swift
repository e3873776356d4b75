/// The limits of iOS on a phone. Apple publishes none of them, so the standard values are what people have observed.
public struct DeviceLimits: Sendable, Hashable {
    /// Push-to-start starts within one hour. Further ones are dropped silently.
    public var startsPerHour = 10
    /// High-priority updates and ends within one hour.
    public var highPriorityPerHour = 60
    /// High-priority updates and ends within one hour while the person allows frequent updates.
    public var frequentHighPriorityPerHour = 600
    /// Background pushes that wake the app within one hour. Apple asks for no more than two or three.
    public var backgroundPushesPerHour = 3
    /// Treatment of a high-priority push above the budget.
    public var throttling = Throttling.delayed(.seconds(300))
    /// Number of cards of one app that may run at once.
    public var runningCards = 5
    /// Longest time for which a card stays active.
    public var activeFor = Duration.seconds(8 * 3600)
    /// Longest time for which an ended card stays on the lock screen.
    public var shownAfterEndFor = Duration.seconds(4 * 3600)
    /// Longest time by which a timestamp may be ahead of the phone's clock.
    public var timestampAhead = Duration.seconds(8 * 3600)
    /// Time for which APNs continues to answer 200 for the token of a card that is over.
    public var tokenGrace = Duration.seconds(1800)

    /// Treatment of a high-priority push above the budget.
    public enum Throttling: Sendable, Hashable {
        case dropped
        /// Applied after this delay, unless a newer push has arrived.
        case delayed(Duration)
    }

    /// Creates the standard values.
    public init() {}

    /// Maximum number of pushes that wait on one phone because of throttling.
    static let delayedPushes = 32
    /// Maximum number of entries of a device log. The oldest are dropped.
    static let logEntries = 200
    /// Maximum number of dismissed cards, and of notifications, that are remembered.
    static let remembered = 32
}
