/// News of one activity that a phone gets with the answer to each call of its app.
///
/// No push reaches a card on a channel that missed a broadcast, or whose person has left the audience. Such a card
/// follows these answers.
package enum ContactAnswer: Sendable, Hashable {
    /// The answer does not name the activity, because the phone has no part in it.
    case nothing
    /// The app ends its card. Its person must not see the state any more.
    case end
    /// The app shows the state. If the activity has ended, it is the last one, and the app ends the card with it.
    ///
    /// - Parameter mayStart: `true` if the app may start the card itself.
    case state(mayStart: Bool)
}

extension CardMachine {
    /// Returns what the phone learns of the card's activity.
    package func contactAnswer(of activity: ActivityRecord, on device: DeviceID) -> ContactAnswer {
        // If the phone's person is not in the audience, the activity looks like an unknown one.
        guard activity.phase != .announced, awaitsUntil == nil else { return .nothing }
        let hasCard = state.mayHaveCard || state == .requesting
        guard isWanted else { return hasCard ? .end : .nothing }
        guard activity.phase == .active || hasCard else { return .nothing }
        return .state(mayStart: mayBeStartedByApp(activity, on: device))
    }

    /// Returns `true` if the app may start the card itself: no card exists and no start is on its way.
    private func mayBeStartedByApp(_ activity: ActivityRecord, on device: DeviceID) -> Bool {
        guard activity.phase == .active, activity.start != .never, activity.mayStart(self, on: device) else {
            return false
        }
        return run != activity.run || state == .absent || state == .requesting
    }
}
