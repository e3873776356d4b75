import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// An activity that the person wants to follow now: the call, and the meaning of its answer.
struct JoinMachineTests {
    private static func offer(_ members: String = "", activity: String = "a", phase: String = "active") -> String {
        #"{"activity":"\#(activity)","type":"order","state":{"step":4},"revision":7,"phase":"\#(phase)""#
            + members + "}"
    }

    private static func outcome(_ status: Int, _ body: String) -> JoinOutcome {
        JoinOutcome(PhoneAnswer(status: status, body: Array(body.utf8)), of: "a", as: "order")
    }

    private static func join(_ bench: inout PhoneBench, _ activity: String = "a") -> RegistrationMachine.JoinStep {
        bench.run { machine, _ in machine.join(activity, as: "order", in: .sandbox) }
    }

    // MARK: - The call

    @Test func `the server is asked for the activity, whatever its id contains, and for the app's push service`() {
        var bench = PhoneBench.ready()
        for (id, path) in [("order-1", "order-1"), ("a/b ?é", "a%2Fb%20%3F%C3%A9")] {
            guard case .ask(let call) = Self.join(&bench, id) else { return #expect(Bool(false), "no call for \(id)") }
            #expect(call.method == .get && call.body == nil && !call.showsProof)
            #expect(call.path == "/v1/activities/\(path)/join?environment=sandbox")
        }
        let step = bench.run { machine, _ in machine.join("a", as: "order", in: nil) }
        guard case .ask(let call) = step else { return #expect(Bool(false), "\(step)") }
        #expect(call.path == "/v1/activities/a/join")
    }

    @Test func `calls that join have numbers of their own, and leave the machine's call under way`() {
        var bench = PhoneBench.ready()
        let device = bench.sent.last?.number
        var numbers: [Int?] = [device]
        for _ in 0..<2 { if case .ask(let call) = Self.join(&bench) { numbers.append(call.number) } }
        #expect(numbers.count == 3 && Set(numbers).count == 3 && device != nil)
        bench.answer()
        #expect(bench.notes.contains { $0.code == .deviceConfirmed })
    }

    @Test func `nobody joins while nobody is signed in`() {
        var bench = PhoneBench()
        bench.launch(user: nil)
        let step = Self.join(&bench)
        #expect(step == .known(.nobodySignedIn))
    }

    @Test func `what is shown need not be asked for`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", "a", token: 1)])
        let step = Self.join(&bench)
        #expect(step == .known(.shown(localID: "c")))
        var over = PhoneBench.card("c", "a")
        over.state = .ended
        bench.run { $0.see(over, $1) }
        guard case .ask = Self.join(&bench) else { return #expect(Bool(false), "it is over") }
    }

    @Test func `nobody joins with the credential of the person before`() {
        var bench = PhoneBench.ready()
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.run { $0.signIn("bob", $1) }
        let step = Self.join(&bench)
        #expect(step == .known(.noAnswer))
        bench.settle()
        guard case .ask = Self.join(&bench) else { return #expect(Bool(false), "the server knows that Ann left") }
    }

    @Test(
        arguments: [
            ("a", true), (String(repeating: "a", count: 256), true), (String(repeating: "é", count: 128), true),
            ("", false), (String(repeating: "a", count: 257), false), (String(repeating: "é", count: 129), false),
            ("a\nb", false), ("a\u{7f}", false), ("a b/c", true),
        ] as [(String, Bool)])
    func `an id has 1 to 256 bytes without control characters`(id: String, isID: Bool) {
        #expect(RegistrationMachine.isActivityID(id) == isID)
    }

    // MARK: - The answer

    @Test func `an offer is an order for the card, in the server's letters and without a channel`() {
        let small = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
        let members =
            #","attributes":{"id":"x"},"staleAt":"2050-01-01T00:00:00Z","relevance":0.4,"#
            + #""channel":"YQ==","retryAfter":2"#
        var order = CardOrder(
            type: "order", activity: small, attributes: ["id": "x"], content: ["step": 4],
            staleAt: Instant("2050-01-01T00:00:00Z"), relevance: 0.4)
        let answer = PhoneAnswer(status: 200, body: Array(Self.offer(members, activity: small).utf8))
        #expect(JoinOutcome(answer, of: small.uppercased(), as: "order") == .offered(order))
        order.activity = "a"
        order.staleAt = nil
        order.relevance = nil
        #expect(Self.outcome(200, Self.offer(#","attributes":{"id":"x"}"#)) == .offered(order))
    }

    private static let answers: [(String, JoinOutcome)] = [
        (offer(#","localID":"c""#), .shown(localID: "c")), (offer(), .notOffered),
        (offer(#","attributes":{}"#, phase: "ended"), .activityEnded),
        (offer(#","attributes":{}"#, activity: "b"), .noAnswer), ("<html>Sign in</html>", .noAnswer), ("", .noAnswer),
        (#"{"activities":[]}"#, .noAnswer),
    ]

    @Test(arguments: answers)
    func `an answer without an order says why there is none`(body: String, outcome: JoinOutcome) {
        #expect(Self.outcome(200, body) == outcome)
    }

    @Test func `an activity of another type is not started, nor is its card taken for one`() {
        for members in [#","attributes":{}"#, #","localID":"c""#, ""] {
            let answer = PhoneAnswer(status: 200, body: Array(Self.offer(members).utf8))
            #expect(JoinOutcome(answer, of: "a", as: "ride") == .typeDiffers("order"))
        }
    }

    @Test(
        arguments: [
            (404, "unknown_activity", .unknownActivity), (404, "not_found", .refused(status: 404, code: "not_found")),
            (409, "activity_ended", .activityEnded), (401, "token_expired", .credentialsRefused),
            (403, "scope_missing", .credentialsRefused), (429, "rate_limited", .rateLimited), (302, nil, .noAnswer),
            (408, "request_timeout", .noAnswer), (425, nil, .noAnswer), (500, nil, .noAnswer),
            (503, "commit_unknown", .noAnswer), (400, "invalid_query", .refused(status: 400, code: "invalid_query")),
            (405, nil, .refused(status: 405, code: nil)),
        ] as [(Int, String?, JoinOutcome)])
    func `a refusal has a meaning of its own`(status: Int, code: String?, outcome: JoinOutcome) {
        #expect(Self.outcome(status, code.map { #"{"code":"\#($0)"}"# } ?? "") == outcome)
    }

    @Test func `no answer is an outcome too`() {
        #expect(JoinOutcome(nil, of: "a", as: "order") == .noAnswer)
    }
}
