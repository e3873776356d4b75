package import APNSModel
package import LiveActivityCore

/// Running activity that its backend may have forgotten.
package struct RunningActivity: Sendable, Equatable {
    package var number: ActivityNumber
    package var app: BundleID
    package var id: ActivityID
    package var type: String
    package var runStartedAt: UnixTime
    package var acceptedAt: UnixTime

    package init(
        number: ActivityNumber, app: BundleID, id: ActivityID, type: String, runStartedAt: UnixTime,
        acceptedAt: UnixTime
    ) {
        self.number = number
        self.app = app
        self.id = id
        self.type = type
        self.runStartedAt = runStartedAt
        self.acceptedAt = acceptedAt
    }
}
