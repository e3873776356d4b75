import APNSModel
import JSONText
import LiveActivityCore

/// A simulated phone of an explanation. It reports the cards that pushes start, and the events of its script.
struct ExplainPhone {
    let name: String
    let user: UserID
    var isOnline = true
    var isAllowed = true
    /// Number of the current card; `nil` before the first.
    private(set) var card: Int?
    private var tokens = 0
    private var inventories: Int64 = 0
    /// Time from which the phone has a report of its card to make.
    private(set) var reportAt: UnixTime?
    private var isDismissed = false
    private var localState: (state: JSONObject, basedOn: Revision, timestamp: Int64)?
    private var shown: (revision: Revision, timestamp: Int64) = (0, 0)

    /// Time between the push of a start and the phone's report of the card.
    static let reportAfter = Duration.seconds(2)

    init(name: String) {
        self.name = name
        user = UserID(stored: "user of \(name)")
    }

    var device: DeviceID { DeviceID(stored: name) }
    private var localID: LocalID { LocalID(stored: "card \(card ?? 0)") }

    /// Applies a push that has arrived. An update that is not newer than the card has no effect, as on iOS.
    mutating func receive(_ plan: PushPlan, timestamp: Int64, at now: UnixTime) {
        switch plan.kind {
        case .start:
            card = (card ?? 0) + 1
            isDismissed = false
            localState = nil
            reportAt = now + Self.reportAfter
        case .update where timestamp > shown.timestamp: localState = nil
        case .end where plan.part == .card: reportAt = now + Self.reportAfter
        case .update, .end: return
        }
        shown = (plan.revision, timestamp)
    }

    /// Applies an event and returns its description, or `nil` if the event needs a card and there is none.
    mutating func live(through event: ExplainScript.Event, at now: UnixTime) -> String? {
        switch event {
        case .offline, .online:
            isOnline = event == .online
            if isOnline { reportAt = reportAt ?? now }
            return "is \(event.rawValue)"
        case .withhold, .allow:
            isAllowed = event == .allow
            if isAllowed, card != nil, tokens == 0 { reportAt = now }
            return isAllowed ? "the person taps Allow" : "the person has not tapped Allow: no update token"
        case .token:
            guard card != nil else { return nil }
            tokens += 1
            reportAt = now
            return "hands out a new update token"
        case .dismiss:
            guard card != nil else { return nil }
            isDismissed = true
            reportAt = now
            return "the person swipes the card away"
        case .local:
            guard card != nil else { return nil }
            shown.timestamp = max(shown.timestamp + 1, now.seconds)
            localState = (["changed by": "the app"], shown.revision, shown.timestamp)
            reportAt = now
            return "the app changes its card, based on revision \(shown.revision)"
        case .inventory:
            reportAt = now
            return "reports its cards"
        }
    }

    /// Returns the reports that are due. The list is empty if the phone has no card.
    mutating func report(
        of type: ActivityType, _ activity: ActivityID, phase: ActivityRecord.Phase?, at now: UnixTime
    ) -> [CardReport] {
        reportAt = nil
        guard card != nil else { return [] }
        var state = CardReport.State.active
        if isDismissed { state = .dismissed } else if phase == .ended { state = .ended }
        var report = CardReport(localID: localID, type: type, state: state)
        report.activity = activity
        if isAllowed, state == .active {
            tokens = max(tokens, 1)
            report.token = try? UpdateToken(hex: TrialStage.token("\(name) \(card ?? 0) \(tokens)"))
        }
        if let localState {
            report.contentState = localState.state
            report.basedOn = localState.basedOn
            report.lastTimestamp = localState.timestamp
        }
        return [report]
    }

    mutating func nextInventory() -> Int64 {
        inventories += 1
        return inventories
    }
}
