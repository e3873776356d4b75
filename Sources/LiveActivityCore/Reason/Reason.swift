/// Reason for an action, or for none: a code with arguments. It becomes text only where a person reads it.
package struct Reason: Sendable, Hashable {
    package let code: Code
    package let arguments: [String]

    package init(_ code: Code, _ arguments: String...) {
        self.init(code, arguments: arguments)
    }

    package init(_ code: Code, arguments: [String]) {
        self.code = code
        self.arguments = arguments
    }

    /// Creates a reason from its stored form; `nil` if the code is unknown.
    package init?(stored text: String) {
        let parts = text.split(separator: "\u{1F}", omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, let code = Code(rawValue: first) else { return nil }
        self.code = code
        arguments = Array(parts.dropFirst())
    }

    package var stored: String { ([code.rawValue] + arguments).joined(separator: "\u{1F}") }

    /// Codes with stable names, which are part of the API.
    package enum Code: String, Sendable, CaseIterable {
        // A push was sent, or is about to be.
        case firstState = "first-state"
        case firstOnChannel = "first-state-on-channel"
        case newState = "new-state"
        case freshToken = "fresh-token"
        case phoneBehind = "phone-behind"
        case activityEnded = "activity-ended"
        case endRepeated = "end-repeated"
        case leftAudience = "left-audience"
        case earlierRun = "earlier-run"
        case staleDateRenewed = "stale-date-renewed"
        case localAheadOver = "local-state-over"
        case renewal = "renewal"
        case renewed = "renewed"
        case evicted = "evicted"
        case nobodyEnded = "nobody-ended"
        // The phone waits.
        case quietHours = "quiet-hours"
        case localAhead = "local-state-ahead"
        case startTokenSuspect = "push-to-start-token-suspect"
        case atCeiling = "at-ceiling"
        case evicting = "evicting"
        case requesting = "app-is-starting"
        case startGrace = "start-grace"
        case startBudget = "start-budget"
        case starting = "start-in-flight"
        case retryLater = "retry-later"
        case coalescing = "coalescing"
        // There is nothing to send.
        case upToDate = "up-to-date"
        case startUnconfirmed = "start-unconfirmed"
        case startFateUnknown = "start-fate-unknown"
        case waitingForUpdateToken = "waiting-for-update-token"
        case updateTokenDead = "update-token-dead"
        case onChannel = "on-channel"
        case channelPending = "channel-pending"
        case channelCurrent = "channel-up-to-date"
        case channelBehind = "channel-behind"
        case endsAtContact = "ends-at-contact"
        case alertByNotification = "alert-by-notification"
        case belowPushToStart = "below-ios-17.2"
        case activitiesDisabled = "activities-disabled"
        case incompatibleBuild = "incompatible-build"
        case noPushToStartToken = "no-push-to-start-token"
        case pushToStartTokenDead = "push-to-start-token-dead"
        case appOnly = "start-app-only"
        case startNever = "start-never"
        case noStartAlert = "no-start-alert"
        case otherStartOpen = "other-start-open"
        case personDismissed = "dismissed-by-person"
        case cardGone = "card-gone"
        case cardEnded = "card-ended"
        case endSent = "end-sent"
        case endedUnseen = "ended-before-shown"
        case signedOut = "signed-out"
        case notAnnounced = "no-state-yet"
        case awaitingAudience = "awaiting-audience"
        case otherDeviceActive = "other-device-active"
        case parked = "parked"
        case payloadRefused = "payload-refused"
        // An ordinary notification, in place of a card or by itself.
        case fellBack = "fell-back"
        case noDeviceToken = "no-device-token"
        case deviceTokenDead = "device-token-dead"
        case notificationsDenied = "notifications-denied"
        case expired = "expired"
        // Outcomes of a push.
        case accepted = "accepted"
        case awaited = "answer-awaited"
        case tokenInactive = "token-inactive"
        case tokenBad = "token-bad"
        case tokenWrongTopic = "token-wrong-topic"
        case tokenNewer = "token-newer-than-answer"
        case otherEnvironment = "other-environment"
        case slowDown = "slow-down"
        case serviceTrouble = "service-trouble"
        case halted = "halted"
        case providerToken = "provider-token"
        case connection = "connection"
        case unknownFate = "unknown-fate"
        case notSent = "not-sent"
        case notConfigured = "not-configured"
        case rescued = "rescued"
        // Reports of a phone.
        case reported = "reported"
        case notListed = "not-listed"
        // Outcomes of an operation on a broadcast channel.
        case channelRefused = "channel-refused"
        case channelGone = "channel-gone"
    }

    /// APNs's own reason of a refusal; `nil` if it gave none, or if this is no refusal.
    package var apnsReason: String? {
        if let word = Self.impliedReasons[code] { return word }
        guard let place = Self.placesOfReason[code], place < arguments.count else { return nil }
        return arguments[place].isEmpty ? nil : arguments[place]
    }
    private static let impliedReasons: [Code: String] = [
        .tokenBad: "BadDeviceToken", .tokenWrongTopic: "DeviceTokenNotForTopic", .slowDown: "TooManyRequests",
    ]
    private static let placesOfReason: [Code: Int] = [
        .tokenInactive: 0, .providerToken: 0, .connection: 0, .serviceTrouble: 1, .halted: 1, .parked: 1,
    ]

    /// Text for a person.
    package var text: String {
        func argument(_ index: Int) -> String { index < arguments.count ? arguments[index] : "?" }
        return switch code {
        case .firstState:
            "the first state: the card is started"
                + (tokenCause.map { "; it has an update token, because \($0.text)" } ?? "")
        case .firstOnChannel:
            "the first state: the card is started on the broadcast channel \(argument(0)), which brings it every later "
                + "state" + (channelCause.map { ", because \($0.text)" } ?? "")
        case .newState: "a new state"
        case .freshToken: "the phone has a new update token: it gets the newest state"
        case .phoneBehind: "the phone reported an older state than it was sent"
        case .activityEnded: "the activity has ended"
        case .endRepeated: "the phone has not confirmed the end: the end is sent again without an alert"
        case .leftAudience: "the person left the audience"
        case .earlierRun: "the activity was reopened: the card of its earlier run is ended first"
        case .staleDateRenewed: "the same state was accepted again: the phone gets its new stale date"
        case .localAheadOver: "the app changed the card itself and no newer state followed: the server's state returns"
        case .renewal: "iOS stops updating a card after 8 hours: it is started again before then"
        case .renewed: "the card was started again: the previous one is ended"
        case .evicted: "the phone shows its maximum number of the app's cards: this one is ended for another"
        case .quietHours: "the phone has quiet hours until \(argument(0)): no card is started"
        case .localAhead:
            "the app changed the card itself, based on this state"
                + (arguments.isEmpty
                    ? ": the app's state stays until a newer one is set"
                    : ": the app's state stays until \(argument(0))")
        case .startTokenSuspect:
            "the cards of \(argument(0)) starts through this push-to-start token do not appear on the phone: "
                + "the app must read the token again; the next start is tried at \(argument(1))"
        case .atCeiling:
            "the phone shows \(argument(0)) cards of the app, its maximum: a start waits for one to end"
        case .evicting:
            "the phone shows \(argument(0)) cards of the app, its maximum: one is ended for this start"
        case .nobodyEnded: "nobody set a state for \(argument(0)): the server ended it"
        case .requesting: "the app said that it is about to start the card itself: waiting until \(argument(0))"
        case .startGrace: "the phone was in touch just now and may start the card itself: waiting until \(argument(0))"
        case .startBudget: "the phone's start budget (an estimate) is used up: the next start is at \(argument(0))"
        case .starting: "a start is on its way"
        case .retryLater: "the next attempt is at \(argument(0))"
        case .coalescing: "changes in quick succession go out together: the next push is at \(argument(0))"
        case .upToDate: "the phone was sent the newest state"
        case .startUnconfirmed:
            "APNs accepted the start, but the phone has not reported the card: "
                + "iOS holds the update token back until the person taps Allow, or the phone is off, "
                + "or the app was force-quit; a second start would be a second card"
        case .startFateUnknown:
            "the answer to the start was lost: the card may be there, and a second start would be a second card"
        case .waitingForUpdateToken: "the card has no update token yet: the state goes out when it arrives"
        case .onChannel: "the card shows what is sent to the broadcast channel \(argument(0)), and has no update token"
        case .channelPending:
            "the card will be on a broadcast channel: it is started when APNs has the channel, and when an alert that "
                + "is on its way there was sent"
        case .channelCurrent: "the newest state was sent to the card's broadcast channel \(argument(0))"
        case .channelBehind: "the newest state goes to the card's broadcast channel \(argument(0))"
        case .endsAtContact:
            "the card is on a broadcast channel, so no push can end it on one phone: "
                + "the app ends it at its next contact"
        case .alertByNotification:
            "the broadcasts to the card's channel bring no alert: it goes out as an ordinary notification"
        case .updateTokenDead: "APNs refused the card's update token: waiting for a new one"
        case .belowPushToStart:
            "iOS \(argument(0)) cannot start a card by push (17.2 and later can): waiting for the app"
        case .activitiesDisabled: "Live Activities are disabled on this phone"
        case .incompatibleBuild:
            "build \(argument(0)) of the app could not decode this state: the state waits for an update of the app"
        case .noPushToStartToken: "the phone reported no push-to-start token for this type: waiting for the app"
        case .pushToStartTokenDead: "APNs refused the push-to-start token: waiting for a new one"
        case .appOnly: "only the app starts this activity: waiting for the app"
        case .startNever: "`start` is `never`: the card is not started where it is not already shown"
        case .noStartAlert: "a start needs an alert: give one in the request, or `startAlert` in the type's policy"
        case .otherStartOpen: "another start of this type is not matched with its card yet: this one waits"
        case .personDismissed: "the person swiped the card away"
        case .cardGone: "the card vanished for an unknown reason"
        case .cardEnded: "the card has ended"
        case .endSent: "the end was sent; the phone has not confirmed it"
        case .endedUnseen: "the activity ended before it was shown here"
        case .signedOut: "the person signed out on this phone"
        case .notAnnounced: "the backend has not set a state yet"
        case .awaitingAudience:
            "the phone reported the card, but its person is not in the audience: the backend has to add the person"
        case .otherDeviceActive: "the card is started on another of the person's devices"
        case .parked:
            "APNs answered \(argument(0)) \(argument(1)): the request is wrong and is not sent again unchanged"
        case .payloadRefused: "the payload cannot be built: \(argument(0))"
        case .fellBack: "the card could not be shown: an ordinary notification went out in its place"
        case .noDeviceToken: "the phone reported no device token: no ordinary notification can reach it"
        case .deviceTokenDead: "APNs refused the device token, or it was given up: waiting for a new one"
        case .notificationsDenied: "the person does not allow notifications on this phone"
        case .expired: "the notification could not be delivered before it expired"
        case .accepted: "APNs accepted the push"
        case .awaited:
            arguments.isEmpty
                ? "APNs has not answered yet: without an answer the start is not sent again, because a second start "
                    + "would be a second card"
                : "APNs has not answered yet: without an answer the next attempt is at \(argument(0))"
        case .tokenInactive: "APNs answered 410 \(argument(0)): this token is dead"
        case .tokenBad: "APNs answered 400 BadDeviceToken: this token is dead, or belongs to the other environment"
        case .tokenWrongTopic: "APNs answered 400 DeviceTokenNotForTopic: this token belongs to another app or kind"
        case .tokenNewer: "APNs answered 410 for a time before this token was first seen: tried again at \(argument(0))"
        case .otherEnvironment:
            "APNs answered 400 BadDeviceToken, and the phone never named its environment: tried once in \(argument(0))"
        case .slowDown: "APNs answered 429 TooManyRequests: the next attempt is at \(argument(0))"
        case .serviceTrouble:
            "APNs answered \(argument(0)) \(argument(1)): "
                + (arguments.count > 2
                    ? "the next attempt is at \(argument(2))" : "the push waits until APNs is healthy again")
        case .halted:
            "APNs answered \(argument(0)) \(argument(1)): the \(argument(2)) must be corrected; the work is kept "
                + (arguments.count > 3 ? "and tried again at \(argument(3))" : "until then")
        case .providerToken: "APNs refused the provider token (\(argument(0))): tried again at \(argument(1))"
        case .connection:
            "APNs closed the connection (\(argument(0))): "
                + (arguments.count > 1
                    ? "tried again at \(argument(1))" : "the push waits until APNs can be reached again")
        case .unknownFate:
            "no answer came (\(argument(0))): the push may have arrived; "
                + (arguments.count > 1
                    ? "the next attempt is at \(argument(1))"
                    : "the start is not sent again, because a second start would be a second card")
        case .notSent: "the push did not leave (\(argument(0))): tried again at \(argument(1))"
        case .notConfigured: "no APNs key is configured for \(argument(0)) of this app"
        case .rescued: "the server stopped while the push was on its way: it may have arrived"
        case .reported: "the phone reported it"
        case .channelRefused: "APNs makes no broadcast channel now (\(argument(0)))"
        case .channelGone: "APNs does not know the broadcast channel any more: later cards get another one"
        case .notListed: "a later inventory of the phone does not list the card"
        }
    }
}
