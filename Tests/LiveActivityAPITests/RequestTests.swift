import JSONText
import LiveActivityAPI
import Testing

@Suite struct RequestTests {
    private static let token = String(repeating: "0a", count: 32)

    @Test func `a whole activity request survives a round trip`() throws {
        let text = #"""
            {"type":"OrderTracking","state":{"status":"baking","eta":12.50},"attributes":{"orderId":"12345"},
             "audience":{"users":["u1"],"devices":"all"},"alert":{"id":"a1","title":"Hot","body":{"locKey":"K",
             "locArgs":["x"]},"sound":"ding.caf","expiresAfter":"600s","keep":true,"onUnknown":"repeat"},
             "priority":"high","relevance":0.5,"staleAfter":"300s","start":"appOnly","restart":"onAlert",
             "reopen":true}
            """#
        let request = try JSONValue(parsing: text).decode(ActivityRequest.self)
        #expect(request.state.description == #"{"status":"baking","eta":12.50}"#)
        #expect(request.audience?.devices == .all)
        #expect(request.staleAfter == APIDuration("5m"))
        #expect(try JSONValue(encoding: request).text == compact(text))
    }

    @Test func `only the type and the state are required`() throws {
        let request = try JSONValue(parsing: #"{"type":"T","state":{},"alert":null}"#).decode(ActivityRequest.self)
        #expect(request == ActivityRequest(type: "T", state: [:]))
        #expect(try JSONValue(encoding: request).text == #"{"type":"T","state":{}}"#)
    }

    @Test(arguments: [
        ("{}", "/type: missing, expected string"), (#"{"type":"T"}"#, "/state: missing, expected object"),
        (#"{"type":"T","state":[]}"#, "/state: expected object, given array"),
        (#"{"type":"T","state":{},"relevence":1}"#, "/relevence: unknown field; did you mean `relevance`?"),
        (
            #"{"type":"T","state":{},"priority":"hihg"}"#,
            #"/priority: expected one of `auto`, `low`, `high`, given "hihg"; did you mean `high`?"#
        ),
        (
            #"{"type":"T","state":{},"alert":{"body":"b"}}"#,
            "/alert/title: missing, expected a string or {locKey, locArgs}"
        ),
        (
            #"{"type":"T","state":{},"alert":{"title":"t","badge":1}}"#,
            "/alert/badge: unknown field; known fields: "
                + "`id`, `title`, `body`, `sound`, `expiresAfter`, `keep`, `onUnknown`"
        ),
        (#"{"type":"T","state":{},"audience":{"users":"u"}}"#, #"/audience/users: expected array, given "u""#),
        (
            #"{"type":"T","state":{},"staleAt":0,"staleAfter":"5m"}"#,
            #"/staleAfter: expected either `staleAt` or `staleAfter`, not both, given "5m""#
        ),
        (#"{"type":"T","state":{},"reopen":1}"#, "/reopen: expected boolean, given 1"),
    ])
    func `a mistake in an activity request is named`(text: String, message: String) throws {
        #expect(try refusal(of: text, as: ActivityRequest.self) == message)
    }

    @Test(
        arguments: [
            ("{}", nil), (#"{"dismissNow":true,"state":{"a":1}}"#, nil),
            (#"{"dismissAfter":"1h","dismissNow":false}"#, nil),
            (
                #"{"dismissAt":0,"dismissAfter":"1h"}"#,
                #"/dismissAfter: expected either `dismissAt` or `dismissAfter`, not both, given "1h""#
            ),
            (
                #"{"dismissAt":0,"dismissNow":true}"#,
                "/dismissNow: expected either `dismissAt` or `dismissNow`, not both, given true"
            ),
            (#"{"dissmissNow":true}"#, "/dissmissNow: unknown field; did you mean `dismissNow`?"),
        ] as [(String, String?)])
    func `an end has at most one way to dismiss`(text: String, message: String?) throws {
        #expect(try refusal(of: text, as: EndRequest.self) == message)
    }

    @Test func `a whole device request survives a round trip`() throws {
        let text = #"""
            {"user":"u","platform":"ios","timeZone":"Europe/Berlin","locale":"de-DE","osVersion":"18.1",
             "appVersion":"3.2","build":"77","model":"iPhone17,1","environment":"sandbox","activitiesEnabled":true,
             "frequentPushesEnabled":false,"notificationAuthorization":"provisional","deviceToken":"\#(Self.token)"}
            """#
        #expect(try rewritten(text, as: DeviceRequest.self) == compact(text))
    }

    @Test(arguments: [
        (#"{"user":7}"#, "/user: expected string, given 7"),
        (#"{"user":"u","platform":"android"}"#, #"/platform: expected one of `ios`, given "android""#),
        (
            #"{"user":"u","deviceToken":"SECRET"}"#,
            "/deviceToken: expected an even number of hexadecimal digits, 32 to 512, given string"
        ),
        (
            #"{"user":"u","deviceToken":77}"#,
            "/deviceToken: expected an even number of hexadecimal digits, 32 to 512, given number"
        ),
    ])
    func `a mistake in a device request never shows a token`(text: String, message: String) throws {
        #expect(try refusal(of: text, as: DeviceRequest.self) == message)
    }

    @Test func `a missing token is named with its format`() throws {
        let message = "/token: missing, expected an even number of hexadecimal digits, 32 to 512"
        #expect(try refusal(of: "{}", as: PushToStartTokenRequest.self) == message)
    }

    @Test func `an inventory has its cards' fields beside their local ids`() throws {
        let text = #"""
            {"sequence":7,"instances":[{"localID":"L1","type":"T","activity":"a","attributes":{},"state":"active",
             "token":"\#(Self.token)","startedAt":"2026-03-01T12:00:00Z","lastTimestamp":"2026-03-01T12:00:01Z",
             "contentState":{"x":1.0},"basedOn":3},{"localID":"L2","type":"T","state":"gone"}]}
            """#
        let inventory = try JSONValue(parsing: text).decode(InventoryRequest.self)
        #expect(inventory.instances[1] == InventoryItem(localID: "L2", instance: .init(type: "T", state: .gone)))
        #expect(try JSONValue(encoding: inventory).text == compact(text))
    }

    @Test(arguments: [
        (#"{"sequence":1.5,"instances":[]}"#, "/sequence: expected integer, given 1.5"),
        (
            #"{"sequence":1,"instances":[{"type":"T","state":"gone"}]}"#,
            "/instances/0/localID: missing, expected string"
        ),
        (
            #"{"sequence":1,"instances":[{"localID":"L","type":"T"}]}"#,
            "/instances/0/state: missing, expected one of "
                + "`requesting`, `pending`, `active`, `stale`, `ended`, `dismissed`, `gone`, `duplicate`, "
                + "`notStarted`"
        ),
        (
            #"{"sequence":1,"instances":[{"localID":"L","type":"T","state":"gone","contentstate":{}}]}"#,
            "/instances/0/contentstate: unknown field; did you mean `contentState`?"
        ),
    ])
    func `a mistake in an inventory is named with its place`(text: String, message: String) throws {
        #expect(try refusal(of: text, as: InventoryRequest.self) == message)
    }
}

@Suite struct AnswerTests {
    @Test func `the answer to a change survives a round trip`() throws {
        let text = #"""
            {"revision":3,"changed":true,"phase":"active","phones":{"start":1,"update":2,"pending":0,"none":4},
             "reasons":[{"reason":"nothing-to-update","count":4}]}
            """#
        #expect(try rewritten(text, as: ActivityAnswer.self) == compact(text))
    }

    @Test func `the view of an activity survives a round trip`() throws {
        let text = #"""
            {"activity":"order-1","type":"T","phase":"active","run":1,"revision":3,"state":{"a":1.0},
             "attributes":{},"createdAt":"2026-03-01T12:00:00Z","updatedAt":"2026-03-01T12:00:01.500Z",
             "counts":{"live":1},"devices":[{"device":"d","user":"u","localID":"L","state":"live","revision":3,
             "shownRevision":2,"confirmation":"accepted","lastDelivery":{"kind":"update",
             "at":"2026-03-01T12:00:02Z","status":200,"verdict":"delivered"},"reason":{"code":"up-to-date",
             "text":"the phone has it"}}],"next":"c"}
            """#
        #expect(try rewritten(text, as: ActivityView.self) == compact(text))
    }

    @Test func `a timeline survives a round trip`() throws {
        let text = #"""
            {"entries":[{"at":"2026-03-01T12:00:00Z","kind":"push","device":"d","revision":1,"code":"sent",
             "text":"sent","status":200,"apnsID":"A"},{"at":"2026-03-01T12:00:00Z","kind":"change","revision":1,
             "code":"set","text":"set"}],"next":"c"}
            """#
        #expect(try rewritten(text, as: TimelineView.self) == compact(text))
    }

    @Test func `desired states survive a round trip`() throws {
        let text = #"""
            {"activities":[{"activity":"a","type":"T","attributes":{"x":1},"state":{},"revision":2,"phase":"ended",
             "staleAt":"2026-03-01T12:00:00Z"}]}
            """#
        #expect(try rewritten(text, as: DesiredStatesAnswer.self) == compact(text))
    }

    @Test func `a problem leaves out what it does not know`() throws {
        let problem = ProblemDetails(
            type: "about:blank", title: "Bad", status: 400, detail: "d", code: "invalid_body", pointer: "/eta"
        )
        let text =
            #"{"type":"about:blank","title":"Bad","status":400,"detail":"d","code":"invalid_body","pointer":"/eta"}"#
        #expect(try JSONValue(encoding: problem).text == text)
        #expect(try rewritten(text, as: ProblemDetails.self) == compact(text))
    }
}
