import APNSModel
import JSONText
import LiveActivityCore

@testable import LiveActivityServer
@testable import islet

/// Recorded days, made by hand.
struct RecordedSample {
    /// 2026-01-15T12:00:00Z.
    static let noon = UnixTime(seconds: 1_768_478_400)
    static let device: DeviceKey = 7

    var from = Self.noon
    var to = Self.noon + .seconds(8 * 3600)
    var hasStartToken = true
    var entries: [HistoryEntry] = []
    private var revision: Revision = 0

    static func type(_ change: (inout TypePolicy) -> Void = { _ in }) -> ActivityType {
        var policy = TypePolicy()
        policy.startAlert = AlertTemplate(PushAlert(title: .text("Your order")))
        policy.startGrace = .zero
        change(&policy)
        return ActivityType(name: "Order", attributesType: "OrderAttributes", policy: policy)
    }

    /// Sets a state this long after the beginning.
    mutating func set(_ after: Duration, more: String = "") {
        revision += 1
        entries.append(
            HistoryEntry(
                .stateSet, at: from + after, revision: revision, detail: #"{"state":{"step":\#(revision)}\#(more)}"#))
    }

    /// Adds a push that APNs accepted.
    mutating func accepted(_ kind: HistoryEntry.Kind, _ after: Duration, _ code: LiveActivityCore.Reason.Code) {
        entries.append(
            HistoryEntry(
                kind, device: Self.device, at: from + after, revision: revision, priority: 10, status: 200,
                reason: Reason(code), outcome: Reason(.accepted)))
    }

    mutating func phone(_ kind: HistoryEntry.Kind, _ after: Duration, _ detail: String) {
        entries.append(
            HistoryEntry(kind, device: Self.device, at: from + after, revision: revision, detail: detail))
    }

    /// Adds a card with a token, one hour before the beginning.
    mutating func hasCard() {
        set(.seconds(-3600))
        accepted(.start, .seconds(-3600), .firstState)
        phone(.tokenReported, .seconds(-3590), "abcd…")
    }

    /// Returns the day in the form that a trial takes.
    func day(_ type: ActivityType = Self.type(), zone: String? = nil) -> RecordedDay {
        let app = Self.app(type).bundleID
        let record = ActivityRecord(
            number: 1, app: app, id: ActivityID(stored: "order-1"), type: type.name, at: from - .seconds(7200))
        var facts = DeviceFacts(
            key: Self.device, id: DeviceID(stored: "phone-1"), userID: UserID(stored: "ada"), contactAt: from)
        facts.osVersion = OSVersion(18, 0)
        facts.timeZone = zone
        let instance = CardMachine(activity: 1, device: Self.device, run: 1, at: from - .seconds(7200))
        var day = RecordedDay(from: from, to: to)
        day.phones = [Self.device: RecordedPhone(facts: facts, hasStartToken: hasStartToken, hasDeviceToken: true)]
        day.activities = [
            RecordedActivity(
                record, attributes: [:], phones: [PhoneSituation(card: instance, device: facts)],
                entries: entries, from: from, to: to)
        ]
        day.sent = DayFigures(counting: [entries], from: from, to: to)
        return day
    }

    static func app(_ type: ActivityType) -> AppSettings {
        guard let id = BundleID("com.acme.pizza") else { preconditionFailure("no bundle id") }
        return AppSettings(bundleID: id, types: [type], environments: [.sandbox])
    }

    /// Returns the figures of the day under a policy.
    func figures(
        _ given: RecordedDay? = nil, zone: String? = nil, _ change: (inout TypePolicy) -> Void = { _ in },
        isOver: @escaping @Sendable () -> Bool = { false }
    ) async throws -> DayFigures {
        try await PolicyTrials.played.play(
            .init(
                day: given ?? day(zone: zone), app: Self.app(Self.type()), type: Self.type(change), isOver: isOver))
    }
}
