extension Reason.Code {
    /// What has to come before a phone of which a code is said gets what it lacks.
    package enum Prospect: Sendable {
        /// It lacks nothing.
        case settled
        /// A date, an answer, an end of something else: it comes by itself.
        case passing
        /// A token, a card or a start by the app, or a key that works.
        case awaitsOthers
        /// Nothing, as things are set.
        case closed
    }

    package var prospect: Prospect {
        switch self {
        case .upToDate, .endSent, .cardEnded, .endedUnseen, .activityEnded, .localAhead: .settled
        case .starting, .startUnconfirmed, .startFateUnknown, .waitingForUpdateToken, .otherStartOpen, .requesting,
            .startGrace, .startBudget, .retryLater, .coalescing, .quietHours, .startTokenSuspect, .atCeiling, .evicting,
            .slowDown, .serviceTrouble, .providerToken, .connection, .unknownFate, .notSent, .rescued, .awaited,
            .tokenNewer, .otherEnvironment, .notAnnounced:
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
