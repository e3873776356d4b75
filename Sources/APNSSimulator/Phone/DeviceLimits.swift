/// How generous iOS is. Apple publishes none of the budgets; the standard values are what people have seen.
public struct DeviceLimits: Sendable, Hashable {
    /// Push-to-start starts within one hour; further ones are dropped in silence.
    public var startsPerHour = 10
    /// High-priority updates and ends within one hour.
    public var highPriorityPerHour = 60
    /// The same while the person allows frequent updates.
    public var frequentHighPriorityPerHour = 600
    /// Background pushes that wake the app within one hour: Apple asks for no more than two or three.
    public var backgroundPushesPerHour = 3
    /// What happens to a high-priority push above the budget.
    public var throttling = Throttling.delayed(.seconds(300))
    /// Cards of one app that may run at once.
    public var runningCards = 5
    /// How long a card stays active.
    public var activeFor = Duration.seconds(8 * 3600)
    /// How long an ended card stays on the lock screen at most.
    public var shownAfterEndFor = Duration.seconds(4 * 3600)
    /// How far ahead of the phone's clock a timestamp may be.
    public var timestampAhead = Duration.seconds(8 * 3600)
    /// How long APNs goes on answering 200 for the token of a card that is over.
    public var tokenGrace = Duration.seconds(1800)

    /// What happens to a high-priority push above the budget.
    public enum Throttling: Sendable, Hashable {
        case dropped
        /// Applied that much later, unless something newer came.
        case delayed(Duration)
    }

    /// The standard values.
    public init() {}

    /// The most pushes that wait on one phone because of throttling.
    static let delayedPushes = 32
    /// The most entries of a device log; older ones are forgotten.
    static let logEntries = 200
    /// The most dismissed cards and the most notifications that are remembered.
    static let remembered = 32
}
