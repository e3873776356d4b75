package import LiveActivityStorage
package import TestSupport

/// Faults and other events that may occur in a history.
package enum Happening: String, Sendable, CaseIterable {
    case processReplaced, processStopped, processStoodStill, twoProcesses
    case storeFailed, commitUnknown
    case clockStepped
    case stormOf5xx, answerLate, answerLost, answerLostAndLateArrival, goAway, notConnected, slowDown, keyRefused
    /// An older push arrived after a newer one.
    case reordered
    case tokenReplaced, startTokenReplaced
    case hoursOffline
    case joined, left
    case changedHands, installedAnew, swiped
    case callRepeated, callLate
    /// A commit of one process made work due for another, which was woken.
    case wokenByAnother
    /// A commit claimed the work that it made due.
    case claimedAtOnce
    /// The news that a push was refused, or had never left, came after its flight was settled.
    case refusedLate, notConnectedLate
    /// A card was evicted to make room for another.
    case evicted
    /// A start was deferred until quiet hours were over.
    case waitedForQuiet
    case activitiesToggled
    /// The app changed a card while a push with an alert was on its way there.
    case alertOvertaken
    /// iOS gave a card another token while a push with an alert was on its way to the old one.
    case alertToOldToken
    /// The app showed an older state on a card than it had reported.
    case wentBack
    /// The app started a card on a broadcast channel, to which nothing is sent.
    case onChannel
    /// A broadcast was taken by APNs, or did not reach a phone.
    case broadcast, broadcastLost
    /// A call about a channel was refused, or its answer was lost.
    case channelCallRefused, channelCallLost
    /// An operation on a channel of a lost process was rescued.
    case channelRescued
    /// An alert came to a card on a channel.
    case alertOnChannel
    /// An alert went to a phone by a notification, because its card is on a channel.
    case alertNotified
    /// The answer to its app's call ended a card on a channel, or brought it a newer state.
    case endedAtContact, caughtUpAtContact
    /// iOS refused the app a card of its own.
    case notStarted
    /// An audience had more people than one call may name.
    case crowded
    /// A provider was asked for a person's state, or failed.
    case provided, providerFailed
    /// An endpoint was sent an event, or did not take it.
    case listenerTold, listenerFailed
    /// The app changed a card so often that the card's timestamp is minutes ahead of every clock.
    case appFarAhead
    /// Commands were run again in one commit.
    case grouped
    /// An activity had more than four lanes.
    case manyLanes
    /// A person named invented activities on their own authority.
    case invented
    /// An endpoint took events while it refused those of other activities, for more than an hour.
    case pickyForLong
}

/// A rule that is violated on purpose, to test the handling of a failure.
package struct Trap: Sendable {
    package let rule: Rule
    package let isShut: @Sendable (Counts) -> Bool

    package init(_ rule: Rule, _ isShut: @escaping @Sendable (Counts) -> Bool) {
        self.rule = rule
        self.isShut = isShut
    }
}

/// Counts of a history's events. They show that a history without violations was not an empty one.
package struct Counts: Sendable, Equatable {
    package var jobs = 0
    package var commits = 0
    package var pushes = 0
    package var notifications = 0
    package var starts = 0
    package var applied = 0
    package var alerts = 0
    package var crashes = 0
    package var rescued = 0
    package var overlaps = 0
    package var leaked = 0
    package var renewals = 0
    package var fallbacks = 0
    package var refusedTokens = 0
    package var openCircuits = 0
    /// Number of times that a process died at each fault point.
    package var deaths: [FaultPoint: Int] = [:]
    package var happenings: [Happening: Int] = [:]

    static func += (left: inout Self, right: Self) {
        left.jobs += right.jobs
        left.commits += right.commits
        left.pushes += right.pushes
        left.notifications += right.notifications
        left.starts += right.starts
        left.applied += right.applied
        left.alerts += right.alerts
        left.crashes += right.crashes
        left.rescued += right.rescued
        left.overlaps += right.overlaps
        left.leaked += right.leaked
        left.renewals += right.renewals
        left.fallbacks += right.fallbacks
        left.refusedTokens += right.refusedTokens
        left.openCircuits += right.openCircuits
        left.deaths.merge(right.deaths, uniquingKeysWith: +)
        left.happenings.merge(right.happenings, uniquingKeysWith: +)
    }
}
