import APNSModel
import JSONText
import LiveActivityCore

/// A phone as an explanation needs it: it reports the card that a push started, and what its script says.
struct ExplainPhone {
    let name: String
    let user: UserID
    var isOnline = true
    var isAllowed = true
    /// The card it shows, by its number.
    private(set) var card: Int?
    private var tokens = 0
    private var inventories: Int64 = 0
    /// What it has to say of its card, and from when on.
    private(set) var reportAt: UnixTime?
    private var isDismissed = false
    private var localState: (state: JSONObject, basedOn: Revision, timestamp: Int64)?
    private var shown: (revision: Revision, timestamp: Int64) = (0, 0)

    /// A started card is reported this long after its push.
    static let reportAfter = Duration.seconds(2)

    init(name: String) {
        self.name = name
        user = UserID(stored: "user of \(name)")
    }

    var device: DeviceID { DeviceID(stored: name) }
    private var localID: LocalID { LocalID(stored: "card \(card ?? 0)") }

    /// A push has arrived: what is not newer than the card is ignored, as iOS does.
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

    /// What happens to it; `nil` when there is no card that it could happen to.
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

    /// What it says when its time has come; an inventory where it has no card.
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
