import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import TestSupport
import Testing

/// A machine with its memory on disk, its clock, and everything that it requested.
struct PhoneBench {
    static let types: [String: RegistrationMachine.TypeRules] = ["order": .init()]

    var machine: RegistrationMachine
    var now = PhoneMoment(wall: 1_795_271_520_000, steady: 0)
    /// The memory that survives a kill.
    var disk: RegistrationMemory
    var sent: [PhoneCall] = []
    var cardActions: [ClientAction] = []
    var notes: [PhoneNote] = []
    /// Number of times that iOS was to be asked for its list again.
    var looks = 0
    /// The content of the phone's Keychain.
    var credentials = PhoneCredentials()
    var keychain: String? { credentials.own }
    /// Returns a card's content after an update; `nil` if iOS does not return from updates.
    var writes: ((JSONObject) -> JSONObject)? = { $0 }
    /// `true` if the disk is full, so that saved memory is lost.
    var losesSaves = false
    /// Updates from which iOS has not returned.
    var underWay: [(change: Int, localID: String, content: JSONObject)] = []

    init(_ rules: RegistrationMachine.TypeRules = .init()) {
        disk = RegistrationMemory(device: "phone/1")
        machine = RegistrationMachine(disk, types: ["order": rules])
    }

    /// Returns a bench on which a person is signed in, and the phone and its cards have been seen.
    static func ready(_ rules: RegistrationMachine.TypeRules = .init(), cards: [SeenCard] = []) -> PhoneBench {
        var bench = PhoneBench(rules)
        bench.launch(cards: cards)
        return bench
    }

    mutating func launch(cards: [SeenCard] = [], user: String? = "ann", facts: DeviceRequest? = nil) {
        let facts = facts ?? Self.facts()
        run { machine, now in
            if let user { machine.signIn(user, now) }
            machine.see(facts, now)
            machine.see(all: cards, now)
        }
    }

    static func facts(enabled: Bool? = true, _ change: (inout DeviceRequest) -> Void = { _ in }) -> DeviceRequest {
        var facts = DeviceRequest(user: "")
        facts.osVersion = "18.1"
        facts.activitiesEnabled = enabled
        facts.frequentPushesEnabled = true
        change(&facts)
        return facts
    }

    static func token(_ number: Int) -> TokenText {
        let digits = String(number, radix: 16)
        guard let token = TokenText(String(repeating: "0", count: 64 - digits.count) + digits) else {
            preconditionFailure("no token")
        }
        return token
    }

    static func card(_ localID: String, _ activity: String? = "a", token: Int? = nil, step: Int = 1) -> SeenCard {
        var card = SeenCard(localID: localID, type: "order")
        card.activity = activity
        card.attributes = activity.map { ["id": .string($0)] } ?? [:]
        card.content = ["step": .number(JSONNumber(step))]
        card.token = token.map(Self.token)
        return card
    }

    static func order(_ activity: String = "a", step: Int = 1) -> CardOrder {
        CardOrder(
            type: "order", activity: activity, attributes: ["id": .string(activity)],
            content: ["step": .number(JSONNumber(step))])
    }

    @discardableResult
    mutating func run<Value>(_ body: (inout RegistrationMachine, PhoneMoment) -> Value) -> Value {
        let value = body(&machine, now)
        for action in machine.takeActions() {
            switch action {
            case .save: if !losesSaves { disk = machine.memory }
            case .send(let call): sent.append(call)
            case .tell(let note): notes.append(note)
            case .change(let change): credentials.apply(change)
            case .look: looks += 1
            case .start, .end: cardActions.append(action)
            case .update(let change, let localID, let content, _, _):
                cardActions.append(action)
                underWay.append((change, localID, content))
                if let writes { comeBack(writes(content)) }
            }
        }
        return value
    }

    /// Completes the oldest update under way. The card then holds this content.
    mutating func comeBack(_ content: JSONObject) {
        guard !underWay.isEmpty else { return }
        let update = underWay.removeFirst()
        var card = SeenCard(localID: update.localID, type: "order")
        card.content = content
        run { $0.updated(update.change, card, $1) }
    }

    /// Kills the process. Memory that was not written is lost.
    mutating func kill() {
        machine = RegistrationMachine(disk, types: Self.types, credentials: credentials)
        sent = []
        cardActions = []
        underWay = []
        now.steady = 0
    }

    mutating func wait(_ milliseconds: Int) {
        now.wall += milliseconds
        now.steady += milliseconds
        run { $0.tick($1) }
    }

    /// Has iOS list no card, not even when it is asked again.
    mutating func listNothing() {
        run { $0.see(all: [], $1) }
        wait(machine.limits.absence)
        run { $0.see(all: [], $1) }
    }

    // MARK: - The server

    /// Answers the call under way.
    mutating func answer(_ status: Int = 200, _ body: String = #"{"activities":[]}"#, date: Int? = nil) {
        guard let call = sent.last else { return }
        run {
            $0.answered(
                call.number, PhoneAnswer(status: status, body: Array(body.utf8), date: date), dice: 0.5, $1)
        }
    }

    mutating func loseAnswer() {
        guard let call = sent.last else { return }
        run { $0.answered(call.number, nil, dice: 0.5, $1) }
    }

    /// Answers every call with the same answer, and returns the calls.
    @discardableResult
    mutating func settle(_ body: String = #"{"activities":[]}"#, date: Int? = nil) -> [String] {
        var said: [String] = []
        for _ in 0..<50 {
            guard let call = sent.last, !said.contains("\(call.number) \(call)") else { break }
            said.append("\(call.number) \(call)")
            answer(200, body, date: date)
        }
        return said.map { String($0.drop { $0 != " " }.dropFirst()) }
    }

    /// Has the server's own rules answer every call, with the phone's pauses.
    mutating func settle(with door: inout ServerDoor) {
        for _ in 0..<50 {
            guard !machine.isSettled, let call = sent.last else { return }
            let answer = door.handle(call, credentials, now: Sample.now)
            run { $0.answered(call.number, answer, dice: 0.5, $1) }
            if sent.last?.number == call.number { wait(1_000) }
        }
    }

    static func wish(
        _ activity: String = "a", step: Int, revision: Int, phase: String = "active", starts: Bool = false,
        localID: String? = nil, lastTimestamp: String? = nil, dismissAt: String? = nil, startedAt: String? = nil
    ) -> String {
        let attributes =
            (starts ? #""attributes":{"id":"\#(activity)"},"# : "")
            + (localID.map { #""localID":"\#($0)","# } ?? "")
            + (lastTimestamp.map { #""lastTimestamp":"\#($0)","# } ?? "")
            + (dismissAt.map { #""dismissAt":"\#($0)","# } ?? "")
            + (startedAt.map { #""startedAt":"\#($0)","# } ?? "")
        return """
            {"activities":[{"activity":"\(activity)","type":"order",\(attributes)"state":{"step":\(step)},\
            "revision":\(revision),"phase":"\(phase)","hint":"of a newer server"}]}
            """
    }

    /// Returns the JSON of a call's body.
    static func body(_ call: PhoneCall?) -> JSONObject {
        call?.body.flatMap { try? JSONValue(parsing: $0) }?.object ?? [:]
    }

    var updates: [JSONObject] {
        cardActions.compactMap { if case .update(_, _, let content, _, _) = $0 { content } else { nil } }
    }

    var ended: [String] {
        cardActions.compactMap { if case .end(let localID, _, _, _) = $0 { localID } else { nil } }
    }
}
