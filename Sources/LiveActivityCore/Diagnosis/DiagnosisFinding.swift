package import JSONText

/// Finding of a diagnosis: its text, its severity, the values that prove it, and advice.
package struct DiagnosisFinding: Sendable, Equatable {
    package enum Severity: Int, Sendable, Comparable, CaseIterable {
        /// Good to know.
        case note
        /// Something is wrong, but it works.
        case warning
        /// Nothing is sent now. It continues by itself.
        case waiting
        /// Nothing arrives before somebody acts, or nothing should arrive any more.
        case blocked

        package var name: String { "\(self)" }

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Stable id, part of the API. A decision's finding has the code of its reason.
    package var id: String
    package var severity: Severity
    /// Activity of the finding; `nil` if it is about the device as a whole.
    package var activity: ActivityID?
    package var text: String
    package var fix: String?
    package var evidence: JSONObject

    package init(
        _ id: ID, _ severity: Severity, _ text: String, fix: String? = nil, evidence: JSONObject = [:]
    ) {
        self.init(id: id.rawValue, severity, text, fix: fix, evidence: evidence)
    }

    package init(id: String, _ severity: Severity, _ text: String, fix: String? = nil, evidence: JSONObject = [:]) {
        self.id = id
        self.severity = severity
        self.text = text
        self.fix = fix
        self.evidence = evidence
    }

    /// Ids of the findings other than the decision itself.
    package enum ID: String, Sendable, CaseIterable {
        // The device
        case deviceUnknown = "device-unknown"
        case deviceSignedOut = "device-signed-out"
        case liveActivitiesDisabled = "live-activities-disabled"
        case notificationsDenied = "notifications-denied"
        case systemUnknown = "system-version-unknown"
        case systemTooOld = "system-below-17.2"
        case environmentNotNamed = "environment-not-named"
        case environmentNotConfigured = "environment-not-configured"
        case environmentMismatch = "environment-mismatch"
        case phoneSilent = "phone-silent"
        // The way to APNs
        case routeHalted = "route-halted"
        case routeInTrouble = "route-in-trouble"
        case clockSkew = "clock-skew"
        // The activity
        case activityUnknown = "activity-unknown"
        case activityNotHere = "activity-not-on-device"
        case activityHasEnded = "activity-over"
        case notInAudience = "not-in-audience"
        case typeNotConfigured = "type-not-configured"
        case noContract = "no-contract"
        case stalePassed = "stale-date-passed"
        case payloadSize = "payload-size"
        case coalescing = "changes-collected"
        case laneWaits = "lane-waits"
        case inFlight = "in-flight"
        // Tokens
        case updateTokenMissing = "update-token-missing"
        case updateTokenDead = "update-token-refused"
        case startTokenMissing = "start-token-missing"
        case startTokenDead = "start-token-refused"
        case startTokenSuspect = "start-token-suspect"
        case byToken = "by-token"
        case channel = "channel"
        case serverChannel = "server-channel"
        case channelWaits = "channel-waits"
        case tokenOfOtherKind = "token-of-other-kind"
        case token = "token"
        // Budgets
        case highBudget = "high-budget-used"
        case startBudget = "start-budget-used"
        case highMinute = "high-priority-minute"
        // Pushes and their outcomes
        case headers = "headers"
        case lastPush = "last-push"
        case nothingSent = "nothing-sent"
        case parked = "push-parked"
        case notHeardSince = "not-heard-since"
        case confirmationHeld = "held"
        case confirmationAccepted = "accepted-not-confirmed"
        case confirmationContradicted = "contradicted"
        case confirmationUnknown = "unconfirmed"
    }
}

extension [DiagnosisFinding] {
    /// Highest severity; `note` if there are no findings.
    package var worst: DiagnosisFinding.Severity { map(\.severity).max() ?? .note }
}
