// The table of requests that must be refused, by call.
import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage
import Testing

/// A request that must be refused, and the expected refusal.
struct BadInput: Sendable, CustomTestStringConvertible {
    let method: HTTPRequest.Method
    let path: String
    let body: String
    let status: Int
    let code: String
    let pointer: String?

    var testDescription: String { "\(method) \(path) \(body.prefix(60))" }

    init(
        _ method: HTTPRequest.Method, _ path: String, _ body: String, _ status: Int, _ code: String,
        _ pointer: String? = nil
    ) {
        self.method = method
        self.path = path
        self.body = body
        self.status = status
        self.code = code
        self.pointer = pointer
    }

    static func put(_ path: String, _ body: String, _ pointer: String) -> BadInput {
        BadInput(.put, path, body, 422, "invalid_body", pointer)
    }

    /// Returns an input that APNs would accept and iOS would ignore.
    static func ignored(
        _ method: HTTPRequest.Method, _ path: String, _ body: String, _ pointer: String
    ) -> BadInput {
        BadInput(method, path, body, 422, "ignored_by_ios", pointer)
    }

    // MARK: - Every call with a body

    static let paths: [(HTTPRequest.Method, String)] = [
        (.put, "/v1/activities/order-1"), (.post, "/v1/activities/order-1/end"), (.put, "/v1/devices/phone-1"),
        (.put, "/v1/devices/phone-1/push-to-start-tokens/Order"), (.put, "/v1/devices/phone-1/instances/card-1"),
        (.put, "/v1/devices/phone-1/instances"), (.patch, "/v1/activities/order-1"),
        (.post, "/v1/activities/order-1/audience"),
    ]

    static let general: [BadInput] = paths.flatMap { method, path in
        [
            BadInput(method, path, "{", 400, "invalid_json"),
            BadInput(method, path, "nonsense", 400, "invalid_json"),
            BadInput(method, path, #"{"type":"a","type":"b"}"#, 400, "invalid_json", "/type"),
            BadInput(method, path, #"{"a":"\uD800"}"#, 400, "invalid_json", "/a"),
            BadInput(method, path, #"{"a":01}"#, 400, "invalid_json", "/a"),
            BadInput(method, path, "{} {}", 400, "invalid_json", ""),
            BadInput(
                method, path, String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40), 400,
                "invalid_json"),
            BadInput(method, path, "[" + String(repeating: "0,", count: 25_000) + "0]", 400, "invalid_json"),
            BadInput(method, path, "[]", 422, "invalid_body", ""),
            BadInput(method, path, "null", 422, "invalid_body", ""),
            BadInput(method, path, #""text""#, 422, "invalid_body", ""),
            BadInput(method, path, #"{"a":""# + String(repeating: "x", count: 300_000) + #""}"#, 413, "body_too_large"),
        ]
    }

    static let empty: [BadInput] = paths.filter { !$0.1.hasSuffix("/end") }.map {
        BadInput($0, $1, "", 400, "invalid_json", "")
    }

    // MARK: - Single calls

    private static let activity = "/v1/activities/order-1"

    private static func order(_ more: String) -> String { #"{"type":"Order","state":{"step":2},"# + more + "}" }

    static let activities: [BadInput] = [
        .put(activity, #"{"state":{}}"#, "/type"),
        .put(activity, #"{"type":"Order"}"#, "/state"),
        .put(activity, #"{"type":5,"state":{}}"#, "/type"),
        .put(activity, #"{"type":"Order","state":[]}"#, "/state"),
        .put(activity, #"{"type":"Order","state":"{}"}"#, "/state"),
        .put(activity, order(#""sate":{}"#), "/sate"),
        .put(activity, order(#""attributes":[]"#), "/attributes"),
        .put(activity, order(#""audience":{}"#), "/audience/users"),
        .put(activity, order(#""audience":{"users":"ada"}"#), "/audience/users"),
        .put(activity, order(#""audience":{"users":["ada",""]}"#), "/audience/users/1"),
        .put(activity, order(#""audience":{"users":["a\u0000b"]}"#), "/audience/users/0"),
        .put(activity, order(#""audience":{"users":[7]}"#), "/audience/users/0"),
        .put(activity, order(#""audience":{"users":[],"device":"all"}"#), "/audience/device"),
        .put(activity, order(#""audience":{"users":[],"devices":"some"}"#), "/audience/devices"),
        .put(activity, order(#""audience":{"users":[],"devices":[]}"#), "/audience/devices"),
        .put(activity, order(#""audience":{"users":[],"devices":["d",""]}"#), "/audience/devices/1"),
        .put(activity, order(#""alert":{}"#), "/alert/title"),
        .ignored(.put, activity, order(#""alert":{"title":""}"#), "/alert/title"),
        .ignored(.put, activity, order(#""alert":{"title":" \t\u00a0"}"#), "/alert/title"),
        .ignored(.put, activity, order(#""alert":{"title":"a","sound":"Sounds/ding.caf"}"#), "/alert/sound"),
        .ignored(.put, activity, order(#""alert":{"title":"a","sound":" "}"#), "/alert/sound"),
        .ignored(.put, activity, order(#""alert":{"title":"a","body":{"locKey":" "}}"#), "/alert/body/locKey"),
        .put(activity, order(#""alert":{"title":5}"#), "/alert/title"),
        .ignored(.put, activity, order(#""alert":{"title":{"locKey":""}}"#), "/alert/title/locKey"),
        .put(activity, order(#""alert":{"title":{"locArgs":[]}}"#), "/alert/title/locKey"),
        .put(activity, order(#""alert":{"title":"a","bdy":"b"}"#), "/alert/bdy"),
        .put(activity, order(#""alert":{"title":"a","sound":""}"#), "/alert/sound"),
        .put(activity, order(#""alert":{"title":"a","id":""}"#), "/alert/id"),
        .put(activity, order(#""alert":{"title":"a","expiresAfter":0}"#), "/alert/expiresAfter"),
        .put(activity, order(#""alert":{"title":"a","onUnknown":"retry"}"#), "/alert/onUnknown"),
        .put(activity, order(#""priority":"urgent""#), "/priority"),
        .put(activity, order(#""priority":10"#), "/priority"),
        .put(activity, order(#""relevance":1e999"#), "/relevance"),
        .put(activity, order(#""relevance":"high""#), "/relevance"),
        .ignored(.put, activity, order(#""staleAt":1000000000"#), "/staleAt"),
        .ignored(.put, activity, order(#""staleAt":1800000009"#), "/staleAt"),
        .ignored(.put, activity, order(#""staleAt":"2027-01-15T08:00:00Z""#), "/staleAt"),
        .put(activity, order(#""staleAt":1800000100000"#), "/staleAt"),
        .put(activity, order(#""staleAt":"tomorrow""#), "/staleAt"),
        .ignored(.put, activity, order(#""staleAfter":"0s""#), "/staleAfter"),
        .ignored(.put, activity, order(#""staleAfter":"9s""#), "/staleAfter"),
        .put(activity, order(#""staleAfter":"31d""#), "/staleAfter"),
        .put(activity, order(#""staleAfter":-1"#), "/staleAfter"),
        .put(activity, order(#""staleAfter":"10m","staleAt":1800009000"#), "/staleAfter"),
        .put(activity, order(#""start":"always""#), "/start"),
        .put(activity, order(#""restart":true"#), "/restart"),
        .put(activity, order(#""reopen":"yes""#), "/reopen"),
        BadInput(.put, activity, #"{"type":"Pizza","state":{}}"#, 422, "unknown_type", "/type"),
        BadInput(.put, activity, #"{"type":"Silent","state":{}}"#, 409, "type_differs", "/type"),
        BadInput(.put, activity, order(#""attributes":{"shop":"Napoli"}"#), 409, "attributes_differ", "/attributes"),
        BadInput(
            .put, "/v1/activities/new", #"{"type":"Named","state":{},"attributes":{"orderID":"other"}}"#, 422,
            "activity_id_conflict", "/attributes/orderID"),
        BadInput(
            .put, activity, #"{"type":"Order","state":{"text":""# + String(repeating: "x", count: 5000) + #""}}"#, 422,
            "payload_too_large", "/state"),
        BadInput(
            .put, "/v1/activities/new", #"{"type":"Checked","state":{"status":1}}"#, 422, "contract_violation",
            "/state/status"),
        BadInput(
            .put, activity,
            order(#""audience":{"users":["# + (0...1000).map { "\"u\($0)\"" }.joined(separator: ",") + "]}"), 422,
            "audience_too_large", "/audience/users"),
        BadInput(.put, "/v1/activities/done", #"{"type":"Order","state":{}}"#, 409, "activity_ended"),
        BadInput(.post, "/v1/activities/nobody/end", "{}", 404, "unknown_activity"),
        BadInput(.post, activity + "/end", #"{"state":[]}"#, 422, "invalid_body", "/state"),
        BadInput(.post, activity + "/end", #"{"dismiss":true}"#, 422, "invalid_body", "/dismiss"),
        BadInput(.post, activity + "/end", #"{"dismissAfter":"31d"}"#, 422, "invalid_body", "/dismissAfter"),
        BadInput(.post, activity + "/end", #"{"dismissAt":-5}"#, 422, "invalid_body", "/dismissAt"),
        BadInput(
            .post, activity + "/end", #"{"dismissNow":true,"dismissAfter":"1m"}"#, 422, "invalid_body", "/dismissNow"),
        .ignored(.post, activity + "/end", #"{"alert":{"title":""}}"#, "/alert/title"),
        .ignored(.post, activity + "/end", #"{"dismissAt":1799999999}"#, "/dismissAt"),
        .ignored(.post, activity + "/end", #"{"dismissAt":1800014401}"#, "/dismissAt"),
        .ignored(.post, activity + "/end", #"{"dismissAfter":"241m"}"#, "/dismissAfter"),
        .ignored(.post, activity + "/end", #"{"dismissAfter":"0s"}"#, "/dismissAfter"),
        BadInput(.get, "/v1/activities/nobody", "", 404, "unknown_activity"),
        BadInput(.get, "/v1/activities/nobody/timeline", "", 404, "unknown_activity"),
    ]

    private static let audience = activity + "/audience"

    static let changes: [BadInput] = [
        .put(activity, order(#""sequence":-1"#), "/sequence"),
        .put(activity, order(#""sequence":1.5"#), "/sequence"),
        .put(activity, order(#""sequence":"7""#), "/sequence"),
        BadInput(.post, activity + "/end", #"{"sequence":-1}"#, 422, "invalid_body", "/sequence"),
        BadInput(.patch, activity, #"{"state":[]}"#, 422, "invalid_body", "/state"),
        BadInput(.patch, activity, #"{"type":"Order"}"#, 422, "invalid_body", "/type"),
        BadInput(.patch, activity, #"{"attributes":{}}"#, 422, "invalid_body", "/attributes"),
        BadInput(.patch, activity, #"{"sequence":-1}"#, 422, "invalid_body", "/sequence"),
        BadInput(.patch, activity, #"{"relevance":1e999}"#, 422, "invalid_body", "/relevance"),
        .ignored(.patch, activity, #"{"staleAt":1000000000}"#, "/staleAt"),
        .ignored(.patch, activity, #"{"staleAfter":1}"#, "/staleAfter"),
        BadInput(.patch, activity, #"{"staleAt":1800009000,"staleAfter":"5m"}"#, 422, "invalid_body", "/staleAfter"),
        BadInput(.patch, activity, #"{"priority":"urgent"}"#, 422, "invalid_body", "/priority"),
        .ignored(.patch, activity, #"{"alert":{"title":""}}"#, "/alert/title"),
        BadInput(
            .patch, activity, #"{"state":{"text":""# + String(repeating: "x", count: 5000) + #""}}"#, 422,
            "payload_too_large", "/state"),
        BadInput(.patch, "/v1/activities/nobody", "{}", 404, "unknown_activity"),
        BadInput(.patch, "/v1/activities/done", "{}", 409, "activity_ended"),
        BadInput(.delete, "/v1/activities/nobody", "", 404, "unknown_activity"),
        BadInput(.post, audience, "{}", 422, "invalid_body", ""),
        BadInput(.post, audience, #"{"add":"ada"}"#, 422, "invalid_body", "/add"),
        BadInput(.post, audience, #"{"add":["ada",""]}"#, 422, "invalid_body", "/add/1"),
        BadInput(.post, audience, #"{"remove":["a\u0000"]}"#, 422, "invalid_body", "/remove/0"),
        BadInput(.post, audience, #"{"add":["a"],"remove":["b","a"]}"#, 422, "invalid_body", "/remove/1"),
        BadInput(.post, audience, #"{"add":["a"],"replace":["b"]}"#, 422, "invalid_body", "/replace"),
        BadInput(.post, audience, #"{"replace":5}"#, 422, "invalid_body", "/replace"),
        BadInput(.post, audience, #"{"replace":{"users":[]}}"#, 422, "invalid_body", "/replace/session"),
        BadInput(.post, audience, #"{"replace":{"session":"","users":[]}}"#, 422, "invalid_body", "/replace/session"),
        BadInput(.post, audience, #"{"replace":{"session":"s"}}"#, 422, "invalid_body", "/replace/users"),
        BadInput(
            .post, audience, #"{"replace":{"session":"s","users":[],"end":true}}"#, 422, "invalid_body",
            "/replace/end"),
        BadInput(
            .post, audience, #"{"add":["# + (0...1000).map { "\"u\($0)\"" }.joined(separator: ",") + "]}", 422,
            "audience_too_large", "/add"),
        BadInput(.post, "/v1/activities/nobody/audience", #"{"add":["a"]}"#, 404, "unknown_activity"),
        BadInput(.post, "/v1/activities/done/audience", #"{"add":["a"]}"#, 409, "activity_ended"),
        BadInput(
            .post, audience + "?dryRun=true", #"{"replace":{"session":"s","users":[]}}"#, 400, "invalid_query"),
    ]

    private static let phone = "/v1/devices/phone-1"

    private static func device(_ more: String) -> String { #"{"user":"ada","# + more + "}" }
    private static func card(_ more: String) -> String {
        #"{"type":"Order","activity":"order-1","state":"active","# + more + "}"
    }
    private static func list(_ item: String) -> String {
        #"{"sequence":9,"instances":[{"localID":"ok","type":"Order","activity":"order-1","state":"active"},"# + item
            + "]}"
    }

    static let phones: [BadInput] = [
        .put(phone, "{}", "/user"),
        .put(phone, #"{"user":""}"#, "/user"),
        .put(phone, #"{"user":7}"#, "/user"),
        .put(phone, device(#""platform":"android""#), "/platform"),
        .put(phone, device(#""timeZone":"Europe Berlin""#), "/timeZone"),
        .put(phone, device(#""timeZone":"""#), "/timeZone"),
        .put(phone, device(#""osVersion":"eighteen""#), "/osVersion"),
        .put(phone, device(#""osVersion":18.1"#), "/osVersion"),
        .put(phone, device(#""locale":"""#), "/locale"),
        .put(phone, device(#""model":"a\nb""#), "/model"),
        .put(phone, device(#""environment":"test""#), "/environment"),
        .put(phone, device(#""activitiesEnabled":"yes""#), "/activitiesEnabled"),
        .put(phone, device(#""notificationAuthorization":"maybe""#), "/notificationAuthorization"),
        .put(phone, device(#""deviceToken":"abc""#), "/deviceToken"),
        .put(phone, device(#""deviceToken":""# + String(repeating: "ab", count: 257) + "\""), "/deviceToken"),
        .put(phone, device(#""devicetoken":"x""#), "/devicetoken"),
        .put(phone + "/push-to-start-tokens/Order", "{}", "/token"),
        .put(phone + "/push-to-start-tokens/Order", #"{"token":"zz"}"#, "/token"),
        .put(
            phone + "/push-to-start-tokens/Order",
            #"{"token":""# + String(repeating: "a", count: 65) + "\"}", "/token"),
        .put(phone + "/push-to-start-tokens/Order", #"{"token":5}"#, "/token"),
        BadInput(.put, phone + "/push-to-start-tokens/Pizza", #"{"token":"\#(token("x"))"}"#, 422, "unknown_type"),
        BadInput(
            .put, "/v1/devices/nobody/push-to-start-tokens/Order", #"{"token":"\#(token("x"))"}"#, 404, "unknown_device"
        ),
        .put(phone + "/instances/card-1", #"{"type":"Order"}"#, "/state"),
        .put(phone + "/instances/card-1", #"{"type":"Order","state":"alive"}"#, "/state"),
        .put(phone + "/instances/card-1", card(#""token":"not hexadecimal""#), "/token"),
        .put(phone + "/instances/card-1", card(#""basedOn":-1"#), "/basedOn"),
        .put(phone + "/instances/card-1", card(#""basedOn":1.5"#), "/basedOn"),
        .put(phone + "/instances/card-1", card(#""channel":"no base64""#), "/channel"),
        .put(
            phone + "/instances/card-1",
            card(#""channel":"dHN0LXNyY2gtY2hubA==","token":""# + String(repeating: "a", count: 64) + #"""#), "/channel"
        ),
        .put(phone + "/instances/card-1", card(#""startedAt":"now""#), "/startedAt"),
        .put(phone + "/instances/card-1", card(#""lastTimestamp":1800000100000"#), "/lastTimestamp"),
        .put(phone + "/instances/card-1", card(#""contentState":7"#), "/contentState"),
        .put(phone + "/instances/card-1", card(#""contentstate":{}"#), "/contentstate"),
        .put(phone + "/instances/card-1", #"{"type":"Order","activity":"","state":"active"}"#, "/activity"),
        BadInput(
            .put, phone + "/instances/card-1", #"{"type":"Pizza","state":"active"}"#, 422, "unknown_type", "/type"),
        BadInput(
            .put, phone + "/instances/card-1", #"{"type":"Order","state":"active"}"#, 422, "activity_not_named",
            "/activity"),
        BadInput(
            .put, "/v1/devices/nobody/instances/card-1", #"{"type":"Order","activity":"a","state":"active"}"#, 404,
            "unknown_device"),
        .put(phone + "/instances", #"{"instances":[]}"#, "/sequence"),
        .put(phone + "/instances", #"{"sequence":0,"instances":[]}"#, "/sequence"),
        .put(phone + "/instances", #"{"sequence":1.5,"instances":[]}"#, "/sequence"),
        .put(phone + "/instances", #"{"sequence":99999999999999999999,"instances":[]}"#, "/sequence"),
        .put(phone + "/instances", #"{"sequence":1}"#, "/instances"),
        .put(phone + "/instances", list(#"{"type":"Order","state":"active"}"#), "/instances/1/localID"),
        .put(phone + "/instances", list(#"{"localID":"ok","type":"Order","state":"active"}"#), "/instances/1/localID"),
        .put(phone + "/instances", list(#"{"localID":"","type":"Order","state":"active"}"#), "/instances/1/localID"),
        .put(phone + "/instances", list(#"{"localID":"b","type":"Order","state":"x"}"#), "/instances/1/state"),
        .put(
            phone + "/instances", list(#"{"localID":"b","type":"Order","state":"active","tokn":"x"}"#),
            "/instances/1/tokn"),
        BadInput(
            .put, phone + "/instances", list(#"{"localID":"b","type":"Pizza","state":"active"}"#), 422, "unknown_type",
            "/instances/1/type"),
        .put(
            phone + "/instances",
            #"{"sequence":1,"instances":["#
                + (0...100).map { #"{"localID":"c\#($0)","type":"Order","state":"active"}"# }.joined(separator: ",")
                + "]}",
            "/instances"),
        BadInput(.delete, "/v1/devices/nobody", "", 404, "unknown_device"),
        BadInput(.get, "/v1/webhooks/nobody/dead", "", 404, "unknown_webhook"),
        BadInput(.post, "/v1/webhooks/nobody/discard", #"{"all":true}"#, 404, "unknown_webhook"),
        BadInput(.post, "/v1/webhooks/nobody/discard", "{}", 422, "invalid_body", ""),
        BadInput(.post, "/v1/webhooks/nobody/discard", #"{"events":["1"],"all":true}"#, 422, "invalid_body", ""),
        BadInput(.post, "/v1/webhooks/nobody/discard", #"{"events":[]}"#, 422, "invalid_body", "/events"),
        BadInput(.post, "/v1/webhooks/nobody/replay", "{}", 404, "unknown_webhook"),
        BadInput(.post, "/v1/webhooks/nobody/replay", #"{"since":"x"}"#, 422, "invalid_body", "/since"),
        BadInput(.post, "/v1/webhooks/nobody/replay", #"{"events":["1","x"]}"#, 422, "invalid_body", "/events/1"),
        BadInput(.post, "/v1/webhooks/nobody/enable", "", 404, "unknown_webhook"),
    ]

    // MARK: - Paths

    static let ids: [BadInput] =
        ["%00", "a%0Ab", "%7F", String(repeating: "x", count: 257)].flatMap { id in
            [
                BadInput(.put, "/v1/activities/\(id)", #"{"type":"Order","state":{}}"#, 400, "invalid_id"),
                BadInput(.post, "/v1/activities/\(id)/end", "{}", 400, "invalid_id"),
                BadInput(.get, "/v1/activities/\(id)", "", 400, "invalid_id"),
                BadInput(.get, "/v1/activities/\(id)/timeline", "", 400, "invalid_id"),
                BadInput(.put, "/v1/devices/\(id)", #"{"user":"ada"}"#, 400, "invalid_id"),
                BadInput(.put, "/v1/devices/\(id)/push-to-start-tokens/Order", "{}", 400, "invalid_id"),
                BadInput(.put, "/v1/devices/\(id)/instances", "{}", 400, "invalid_id"),
                BadInput(.put, "/v1/devices/phone-1/instances/\(id)", "{}", 400, "invalid_id"),
                BadInput(.delete, "/v1/devices/\(id)", "", 400, "invalid_id"),
            ]
        } + [
            BadInput(.get, "/v1/activities/%", "", 400, "invalid_path"),
            BadInput(.get, "/v1/activities/%4", "", 400, "invalid_path"),
            BadInput(.get, "/v1/activities/%GG", "", 400, "invalid_path"),
            BadInput(.get, "/v1/activities/%FF%FE", "", 400, "invalid_path"),
            BadInput(.get, "/v1/activities/%C0%AF", "", 400, "invalid_path"),
            BadInput(.get, "/console/none.js", "", 404, "not_found"),
            BadInput(.get, "/v1", "", 404, "not_found"),
            BadInput(.get, "/v1/activities/", "", 404, "not_found"),
            BadInput(.get, "/v1/activities?phase=over", "", 400, "invalid_query"),
            BadInput(.get, "/v1/activities?type=Pizza", "", 422, "unknown_type"),
            BadInput(.get, "/v1/activities?user=", "", 400, "invalid_query"),
            BadInput(.get, "/v1/activities?limit=0", "", 400, "invalid_query"),
            BadInput(.get, "/v1/activities?limit=1001", "", 400, "invalid_query"),
            BadInput(.get, "/v1/activities?after=-1", "", 400, "invalid_query"),
            BadInput(.get, "/v1/activities?sort=id", "", 400, "invalid_query"),
            BadInput(.get, "/v1/activities?newest=yes", "", 400, "invalid_query"),
            BadInput(.post, "/v1/activities//end", "", 404, "not_found"),
            BadInput(.get, "/v1/activities/a/", "", 404, "not_found"),
            BadInput(.get, "/v2/activities/a", "", 404, "not_found"),
            BadInput(.get, "/healthz/", "", 404, "not_found"),
            BadInput(.put, "/v1/activities/a?dryRun=yes", #"{"type":"Order","state":{}}"#, 400, "invalid_query"),
            BadInput(.put, "/v1/activities/a?limit=5", #"{"type":"Order","state":{}}"#, 400, "invalid_query"),
            BadInput(.delete, "/v1/activities/order-1?after=a", "", 400, "invalid_query"),
            BadInput(.delete, "/v1/activities/order-1?sequence=-1", "", 400, "invalid_query"),
            BadInput(.delete, "/v1/activities/order-1?sequence=x", "", 400, "invalid_query"),
            BadInput(.post, "/v1/batch?dryRun=true", "", 400, "invalid_query"),
            BadInput(.get, "/healthz?verbose=1", "", 400, "invalid_query"),
            BadInput(.get, "/v1/devices/phone-1", "", 405, "method_not_allowed"),
            BadInput(.patch, "/v1/devices/a", "{}", 405, "method_not_allowed"),
            BadInput(.delete, "/v1/activities/a/end", "", 405, "method_not_allowed"),
            BadInput(.get, "/v1/batch", "", 405, "method_not_allowed"),
            BadInput(.post, "/healthz", "", 405, "method_not_allowed"),
        ]

    static let refreshes: [BadInput] = [
        BadInput(.post, "/v1/users/ada/refresh", #"{"type":"Order"}"#, 422, "no_provider", "/type"),
        BadInput(.post, "/v1/users/ada/refresh", #"{"type":"Pizza"}"#, 422, "unknown_type", "/type"),
        BadInput(.post, "/v1/users/ada/refresh", #"{"user":"bob"}"#, 422, "invalid_body", "/user"),
        BadInput(.post, "/v1/refreshes", "{}", 422, "invalid_body", "/users"),
        BadInput(.post, "/v1/refreshes", #"{"users":["ada"],"all":true}"#, 422, "invalid_body", "/users"),
        BadInput(.post, "/v1/refreshes", #"{"all":false}"#, 422, "invalid_body", "/users"),
        BadInput(.post, "/v1/refreshes", #"{"users":["ada",""]}"#, 422, "invalid_body", "/users/1"),
        BadInput(.post, "/v1/refreshes", #"{"users":[],"type":"Silent"}"#, 422, "no_provider", "/type"),
    ]

    static let all = general + empty + activities + changes + phones + ids + refreshes
}

@Suite struct BadInputTests {
    /// Prepares the database for bad requests: an activity, a phone with a card, and an ended activity.
    private static func prepare(_ fixture: Fixture) async throws {
        try await fixture.registerPhone()
        #expect(
            try await fixture.put(
                "/v1/activities/order-1",
                #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"audience":{"users":["ada"]}}"#
            ).status == 200)
        #expect(try await fixture.put("/v1/activities/done", #"{"type":"Order","state":{}}"#).status == 200)
        #expect(try await fixture.call(.post, "/v1/activities/done/end").status == 200)
    }

    @Test func `every bad request is refused with its status, code and pointer, and leaves the database alone`()
        async throws
    {
        try await withServer { fixture in
            try await Self.prepare(fixture)
            let before = try fixture.contents()
            for input in BadInput.all {
                let body: String? = input.method == .get || input.method == .delete ? nil : input.body
                let reply = try await fixture.call(input.method, input.path, body)
                let name = Comment(rawValue: input.testDescription)
                #expect(reply.status == input.status, name)
                #expect(reply.code == input.code, name)
                if let pointer = input.pointer { #expect(reply["/pointer"]?.string == pointer, name) }
                #expect(reply.headers[.contentType] == "application/problem+json", name)
                #expect(reply["/status"]?.int == reply.status, name)
                #expect(reply["/type"]?.string == "/problems/\(input.code)", name)
                for member in ["/title", "/detail"] { #expect(reply[member]?.string?.isEmpty == false, name) }
                #expect(try fixture.contents() == before, name)
            }
        }
    }

    @Test func `the table knows every code that a request alone can cause`() {
        let codes = Set(BadInput.all.map(\.code))
        let elsewhere: Set<Problem.Code> = [
            // Keys and content types have tables of their own.
            .keyMissing, .keyInvalid, .keyExpired, .tokenInvalid, .tokenExpired, .credentialInvalid, .keysUnavailable,
            .userDiffers, .deviceTaken, .tooManyAwaiting, .tooManyCards, .tooManyDevices, .tooManyTokens,
            .deviceChangesHands, .scopeMissing,
            .originRefused, .appNotConfigured, .unsupportedMediaType,
            // Headers have a table of their own: see the tests of conditions.
            .invalidHeader, .revisionDiffers, .idempotencyKeyReused, .eventsErased,
            // These need more than a request: see the tests of phones and of the store.
            .deadToken, .noStateYet, .sessionReplaced, .sessionClosed, .storageUnavailable, .commitUnknown, .overloaded,
            .notReady, .requestTimeout, .rateLimited, .trialTooLong,
            // No call returns these today, or they would be a fault of the server.
            .typeMisconfigured, .internalError,
        ]
        #expect(Set(Problem.Code.allCases.map(\.rawValue)) == codes.union(elsewhere.map(\.rawValue)))
    }

    @Test func `a misspelt field is refused with the one that was meant`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{},"relevence":1}"#)
            #expect(reply["/fix"] == "did you mean `relevance`?")
        }
    }

    @Test func `JSON that breaks off is refused with line, column and pointer`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", "{\n  \"state\": {\n    \"x\": nope\n")
            let detail = try #require(reply["/detail"]?.string)
            #expect(detail.hasPrefix("line 3, column 11 (at `/state/x`)"), "\(detail)")
            #expect(reply["/pointer"] == "/state/x")
        }
    }

    @Test func `an unknown type is refused with the known ones`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/activities/a", #"{"type":"Ordr","state":{}}"#)
            #expect(reply["/expected"] == "one of `Checked`, `Focus`, `Named`, `Order`, `Silent`, `Versioned`")
        }
    }

    @Test(arguments: [
        ("text/plain", 415), ("application/x-www-form-urlencoded", 415), ("multipart/form-data; boundary=x", 415),
        ("json", 415),
        ("application/json", 200), ("Application/JSON; charset=utf-8", 200), ("application/merge-patch+json", 200),
        ("text/json", 200),
    ])
    func `a body must not be declared as something else than JSON`(type: String, status: Int) async throws {
        try await withServer { fixture in
            let reply = try await fixture.call(
                .put, "/v1/activities/a", #"{"type":"Order","state":{}}"#, key: fixture.keys[.backend]?.text,
                headers: [.contentType: type])
            #expect(reply.status == status)
            if status == 415 { #expect(reply.code == "unsupported_media_type") }
        }
    }

    @Test func `a body at its limit is read, one byte more is not, whatever its declared length`() async throws {
        var limits = LiveActivityServer.Limits()
        limits.bodyBytes = 200
        try await withServer(limits: limits) { fixture in
            let plain = #"{"type":"Order","state":{}}"#
            let full = plain + String(repeating: " ", count: 200 - plain.utf8.count)
            let taken = try await fixture.put("/v1/activities/a", full)
            #expect(taken.status == 200)
            let refused = try await fixture.put("/v1/activities/a", full + " ")
            #expect(refused.code == "body_too_large")
        }
    }

    @Test func `a wrong method is told the right ones`() async throws {
        try await withServer { fixture in
            let reply = try await fixture.call(.post, "/v1/activities/a")
            #expect(reply.headers[.allow] == "PUT, PATCH, DELETE, GET, HEAD")
            #expect(try await fixture.call(.options, "/v1/devices/a").headers[.allow] == "PUT, DELETE")
        }
    }

    @Test(arguments: [
        #"{"user":"ada","platform":"\#(token("secret"))"}"#, #"{"user":"ada","deviceToken":"\#(token("secret"))0"}"#,
        #"{"user":"ada","environment":["\#(token("secret"))"]}"#, #"{"user":"ada","osVersion":"\#(token("secret"))"}"#,
        #"{"user":"ada","timeZone":"\#(token("secret")) "}"#,
        #"{"user":"ada","activitiesEnabled":"\#(token("secret"))"}"#,
        #"{"user":"ada","model":"\#(token("secret"))\#(token("secret"))"}"#,
    ])
    func `a token in the wrong field is not given back`(body: String) async throws {
        try await withServer { fixture in
            let reply = try await fixture.put("/v1/devices/phone-1", body)
            #expect(reply.status == 422)
            #expect(!reply.text.contains(token("secret").prefix(16)))
        }
    }
}
