@testable import APNSSimulator

extension PhoneHistory {
    /// The events of a history. Over all histories each must have happened.
    enum Event: String, CaseIterable {
        case kill, forceQuit, deathBeforeItIsDone, deathBeforeItHears, offline, clock, updateToken, startToken,
            reinstall
        case userChange, signOut, lostAnswer, refusal, credentialLost, localStart, localUpdate, localEnd, swipe,
            switches
        case duplicate, answerApplied, pushLost, renewal, unknownType, lateList, foundAgain, postponed
        case onChannel, beside, opened, suspended
    }
}

extension PhoneHistory.Event {
    /// - Parameter user: The person who was signed in before.
    init?(_ action: PhoneAction, instead user: String) {
        switch action {
        case .kill: self = .kill
        case .forceQuit: self = .forceQuit
        case .offline: self = .offline
        case .rotateUpdateToken: self = .updateToken
        case .rotatePushToStartToken: self = .startToken
        case .install: self = .reinstall
        case .signIn(nil) where !user.isEmpty: self = .signOut
        case .signIn(let next?) where !user.isEmpty && next != user: self = .userChange
        case .startLocally: self = .localStart
        case .updateLocally: self = .localUpdate
        case .endLocally: self = .localEnd
        case .swipe: self = .swipe
        case .tap: self = .opened
        case .setActivitiesEnabled, .setFrequentPushes: self = .switches
        default: return nil
        }
    }
}
