import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityDelivery
import TestSupport

/// Apps, types, activities and people of a history, drawn from its seed before the first step.
struct Scenery {
    /// An activity of the backend.
    struct Subject: Hashable {
        let app: BundleID
        let id: String
        let type: String
    }

    static let pizza = Sample.bundle("com.acme.pizza")
    static let taxi = Sample.bundle("com.acme.taxi")
    static let people = ["ann", "bob"]
    /// Type whose cards are on broadcast channels.
    static let match = "match"
    /// Text in every content state. No log line may contain it.
    static let secret = "s3cret-of-a-person"
    /// Estimates that are small enough to matter within some minutes.
    static let budgets = {
        var budgets = BudgetPolicy()
        budgets.high = BudgetLimit(perHour: 8, perDay: 24)
        budgets.highFrequent = BudgetLimit(perHour: 16, perDay: 48)
        budgets.start = BudgetLimit(perHour: 6, perDay: 16)
        return budgets
    }()

    let apps: [AppSettings]
    let subjects: [Subject]
    /// `true` if a provider computes people's states.
    let isProvided: Bool
    /// `true` if an endpoint receives events.
    let isTold: Bool
    /// Kinds of event that the endpoint wants, or `nil` for all.
    let toldKinds: Set<EventRecord.Kind>?
    /// `true` if a person invents activities.
    let isPestered: Bool
    var limits = Dispatcher.Limits()

    init(_ dice: inout SeededDice) {
        var pizza = [Subject(app: Self.pizza, id: "order-1", type: "order")]
        if dice.chance(50) { pizza.append(Subject(app: Self.pizza, id: "ride-1", type: "ride")) }
        if dice.chance(25) { pizza.append(Subject(app: Self.pizza, id: "order-2", type: "order")) }
        if dice.chance(25) { pizza.append(Subject(app: Self.pizza, id: "told-1", type: "told")) }
        if dice.chance(15) { pizza.append(Subject(app: Self.pizza, id: "watch-1", type: "watch")) }
        if dice.chance(20) { pizza.append(Subject(app: Self.pizza, id: "few-1", type: "few")) }
        if dice.chance(15) { pizza.append(Subject(app: Self.pizza, id: "quiet-1", type: "quiet")) }
        // Another app whose backend chose the same id.
        if dice.chance(15) { pizza.append(Subject(app: Self.taxi, id: "order-1", type: "order")) }
        isProvided = dice.chance(15)
        isTold = dice.chance(15)
        isPestered = dice.chance(8)
        toldKinds = dice.chance(30) ? [.started, .dismissed, .tokenDead] : nil
        let types = ["order", "ride", "told", "watch", "few", "quiet"] + (isProvided ? [Provider.type] : [])
        let delivery: DeliveryMode = dice.chance(25) ? dice.pick([.channel, .auto]) : .token
        let storage = dice.pick(MessageStoragePolicy.allCases)
        let alerts = dice.pick([ChannelAlerts.broadcast, .broadcast, .notification, .notification, .none])
        if delivery != .token { pizza.append(Subject(app: Self.pizza, id: "match-1", type: Self.match)) }
        subjects = pizza
        var match = Self.type(Self.match)
        match.policy.delivery = delivery
        match.policy.channelStorage = storage
        match.policy.channelAlerts = alerts
        if delivery == .auto { match.policy.join = .open }
        apps = [
            AppSettings(
                bundleID: Self.pizza, types: types.map(Self.type) + (delivery == .token ? [] : [match]),
                environments: [.sandbox, .production]),
            AppSettings(bundleID: Self.taxi, types: [Self.type("order")], environments: [.production]),
        ]
        limits.claim.width.phones = dice.pick([1, 2, 2000])
        limits.claim.width.lanes = dice.pick([4, 4, 64])
        if dice.chance(20) { limits.claim.pushes = 1 }
    }

    /// Quiet minutes of the day. Histories begin at 14:32.
    static let quietMinutes = (14 * 60 + 34)..<(15 * 60)

    private static func type(_ name: String) -> ActivityType {
        var type = Sample.type(name, activityIDAttribute: name == "ride" ? "/rideID" : nil) { policy in
            policy.budgets = budgets
            switch name {
            case "ride": policy.restart = .onAlert
            case "told": policy.fallback = AlertTemplate(PushAlert(title: "Told", body: "in place of a card"))
            case "watch":
                policy.restart = .always
                policy.renewal = true
            case "few":
                policy.ceiling = 1
                policy.atCeiling = .endOldest
            case "quiet":
                policy.quietHours = QuietHours(
                    from: TimeOfDay(minute: quietMinutes.lowerBound), to: TimeOfDay(minute: quietMinutes.upperBound),
                    zone: "UTC",
                    zones: ZoneTable(["UTC": .utc]))
            default: break
            }
        }
        type.isProvided = name == Provider.type
        return type
    }

    func app(_ id: BundleID) -> AppSettings { apps.first { $0.bundleID == id } ?? apps[0] }
    func type(of subject: Subject) -> ActivityType { app(subject.app).types[subject.type] ?? Self.type(subject.type) }

    static func state(_ step: Int) -> JSONObject {
        ["status": "baking", "step": .number(JSONNumber(step)), "note": .string(secret)]
    }

    static func step(of state: JSONObject?) -> Int? { state?["step"]?.int }
}
