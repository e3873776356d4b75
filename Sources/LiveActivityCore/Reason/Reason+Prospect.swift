extension Reason.Code {
    /// How a phone of which a code is said comes to what it lacks.
    package enum Prospect: Sendable {
        /// It lacks nothing.
        case settled
        /// A date, an answer, an end of something else brings it: nobody has to do anything.
        case passing
        /// The app brings it, with a token, a card or a start, or whoever runs the server, with a key that works.
        case awaitsOthers
        /// The backend's next state: none was set yet, or the app's own stays until then.
        case awaitsState
        /// Nothing follows by itself: somebody has to decide otherwise.
        case closed
    }

    package var prospect: Prospect {
        switch self {
        case .upToDate, .endSent, .cardEnded, .endedUnseen, .activityEnded, .onChannel: .settled
        case .localAhead, .notAnnounced: .awaitsState
        case .starting, .startUnconfirmed, .startFateUnknown, .waitingForUpdateToken, .otherStartOpen, .requesting,
            .startGrace, .startBudget, .retryLater, .coalescing, .quietHours, .startTokenSuspect, .atCeiling, .evicting,
            .slowDown, .serviceTrouble, .providerToken, .connection, .unknownFate, .notSent, .rescued, .awaited,
            .tokenNewer, .otherEnvironment:
            .passing
        case .updateTokenDead, .noPushToStartToken, .pushToStartTokenDead, .belowPushToStart, .appOnly, .halted,
            .notConfigured:
            .awaitsOthers
        case .firstState, .newState, .freshToken, .phoneBehind, .endRepeated, .leftAudience, .earlierRun, .nobodyEnded,
            .staleDateRenewed, .localAheadOver, .renewal, .renewed, .evicted, .activitiesDisabled, .incompatibleBuild,
            .startNever, .noStartAlert, .personDismissed, .cardGone, .signedOut, .awaitingAudience, .otherDeviceActive,
            .parked, .payloadRefused, .fellBack, .noDeviceToken, .deviceTokenDead, .notificationsDenied, .expired,
            .accepted, .tokenInactive, .tokenBad, .tokenWrongTopic, .reported, .notListed:
            .closed
        }
    }

    /// An obstacle to a start that no waiting overcomes: the phone, its settings, its token, or our own mistake.
    var makesDisplayImpossible: Bool { Self.displayIsImpossible.contains(self) }
    private static let displayIsImpossible: Set<Self> = [
        .activitiesDisabled, .belowPushToStart, .noPushToStartToken, .pushToStartTokenDead, .noStartAlert, .parked,
        .payloadRefused, .incompatibleBuild,
    ]

    /// The phone has no device token, or APNs refused it: nothing was shown.
    var isOfDeviceToken: Bool { Self.ofDeviceToken.contains(self) }
    private static let ofDeviceToken: Set<Self> = [
        .noDeviceToken, .deviceTokenDead, .tokenInactive, .tokenBad, .tokenWrongTopic,
    ]

    /// It went out because of a change, and not because a phone or a date came up.
    var tellsOfChange: Bool { self == .firstState || self == .newState || self == .activityEnded }
}
