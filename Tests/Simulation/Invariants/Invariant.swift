import LiveActivityCore

/// Observer that checks one rule. It keeps the facts it needs and reports each violation.
protocol Invariant: AnyObject {
    func see(_ event: Observation, in world: World)
}

enum Invariants {
    static func all() -> [any Invariant] {
        [
            NewestArrives(), NoSecondCard(), NoDeadToken(), AcceptedIsKept(), BudgetsHold(), QuietHoursHold(),
            AlertsOnce(), AlertsArrive(), NobodyElses(), NothingLeaks(), LaneRules(), NothingStays(), EventsAreTold(),
            ChannelsAreTidy(), OneWay(),
        ]
    }
}

/// A card's place: one activity on one installation.
struct Place: Hashable {
    var activity: ActivityNumber
    var device: DeviceKey

    init(_ activity: ActivityNumber, _ device: DeviceKey) {
        self.activity = activity
        self.device = device
    }
}
