extension Reason.Code {
    /// Next step for a phone that has a reason code.
    package enum Prospect: Sendable {
        /// Nothing: the phone has all it needs.
        case settled
        /// A date, an answer or the end of something else resolves it. Nobody has to act.
        case passing
        /// The app must provide a token, a card or a start, or the operator a working key.
        case awaitsOthers
        /// The backend must set the next state: it has set none yet, or the app's own state stays until then.
        case awaitsState
        /// Nothing follows unless somebody decides otherwise.
        case closed
    }

    package var prospect: Prospect {
        switch self {
        case .upToDate, .endSent, .cardEnded, .endedUnseen, .activityEnded, .onChannel, .channelCurrent:
            .settled
        case .localAhead, .notAnnounced: .awaitsState
        case .starting, .startUnconfirmed, .startFateUnknown, .waitingForUpdateToken, .otherStartOpen, .requesting,
            .startGrace, .startBudget, .retryLater, .coalescing, .quietHours, .startTokenSuspect, .atCeiling, .evicting,
            .slowDown, .serviceTrouble, .providerToken, .connection, .unknownFate, .notSent, .rescued, .awaited,
            .tokenNewer, .otherEnvironment, .channelPending, .channelBehind, .endsAtContact,
            .alertByNotification:
            .passing
        case .updateTokenDead, .noPushToStartToken, .pushToStartTokenDead, .belowPushToStart, .appOnly, .halted,
            .notConfigured:
            .awaitsOthers
        case .firstState, .firstOnChannel, .channelRefused, .channelGone, .newState, .freshToken, .phoneBehind,
            .endRepeated, .leftAudience, .earlierRun, .nobodyEnded,
            .staleDateRenewed, .localAheadOver, .renewal, .renewed, .evicted, .activitiesDisabled, .incompatibleBuild,
            .startNever, .noStartAlert, .personDismissed, .cardGone, .signedOut, .awaitingAudience, .otherDeviceActive,
            .parked, .payloadRefused, .fellBack, .noDeviceToken, .deviceTokenDead, .notificationsDenied, .expired,
            .accepted, .tokenInactive, .tokenBad, .tokenWrongTopic, .reported, .notListed:
            .closed
        }
    }

    /// `true` for an obstacle to a start that no waiting removes: the phone, its settings, its token, or a mistake of
    /// ours.
    var makesDisplayImpossible: Bool { Self.displayIsImpossible.contains(self) }
    private static let displayIsImpossible: Set<Self> = [
        .activitiesDisabled, .belowPushToStart, .noPushToStartToken, .pushToStartTokenDead, .noStartAlert, .parked,
        .payloadRefused, .incompatibleBuild,
    ]

    /// `true` if the phone has no device token or APNs refused it, so no notification was shown.
    var isOfDeviceToken: Bool { Self.ofDeviceToken.contains(self) }
    private static let ofDeviceToken: Set<Self> = [
        .noDeviceToken, .deviceTokenDead, .tokenInactive, .tokenBad, .tokenWrongTopic,
    ]

    /// `true` if a push was sent because of a change, and not because of a phone's report or a date.
    var tellsOfChange: Bool {
        self == .firstState || self == .firstOnChannel || self == .newState || self == .activityEnded
    }
}
