/// Activities and their phones, and the calls that make and change them.
///
/// The phones of an activity are neighbors in the crowd: phone `n` belongs to activity `n / phones`.
struct Population: Sendable {
    let activities: Int
    /// Number of phones per activity.
    let phones: Int
    var route = FanoutRoute.token
    var total: Int { activities * phones }

    func activity(_ index: Int) -> String { "order-\(index)" }

    /// Returns the content state of a step, which differs from the state of every other step.
    static func state(_ step: Int) -> String {
        #"{"status":"preparing","progress":0.5,"eta":\#(step)}"#
    }

    /// Returns a call that sets an activity's state, at low priority and without an alert.
    func change(_ index: Int, step: Int) -> APICall {
        let id = activity(index)
        return APICall(
            "/v1/activities/\(id)",
            #"{"type":"OrderTracking","priority":"low","state":\#(Self.state(step)),"#
                + #""attributes":{"orderId":"\#(id)","restaurant":"Da Mario"}}"#)
    }

    /// Returns a call that sets an activity whose card must be started on a phone.
    func start(_ index: Int, on phone: Int) -> APICall {
        let id = activity(index)
        return APICall(
            "/v1/activities/\(id)",
            #"{"type":"OrderTracking","state":\#(Self.state(index)),"audience":{"users":["user-\#(phone)"]},"#
                + #""attributes":{"orderId":"\#(id)","restaurant":"Da Mario"}}"#)
    }

    /// Returns a call that registers a phone's push-to-start token.
    func startToken(_ phone: Int) -> APICall {
        APICall(
            "/v1/devices/phone-\(phone)/push-to-start-tokens/OrderTracking",
            #"{"token":"\#(CrowdCalls.startToken(of: phone))"}"#)
    }

    /// Returns a call that registers a phone with its own person.
    func device(_ phone: Int) -> APICall {
        let channels = route == .channel ? #","channels":true"# : ""
        return APICall(
            "/v1/devices/phone-\(phone)",
            #"{"user":"user-\#(phone)","osVersion":"18.1","environment":"sandbox","activitiesEnabled":true"#
                + channels + "}")
    }

    /// Returns a call that reports a card that the app started itself. It shows the state of the step, so no push is
    /// due.
    ///
    /// - Parameter channel: Broadcast channel of the card; `nil` for a card with an update token.
    func card(_ phone: Int, step: Int, on channel: String? = nil) -> APICall {
        let way = channel.map { #""channel":"\#($0)""# } ?? #""token":"\#(CrowdCalls.token(of: phone))""#
        return APICall(
            "/v1/devices/phone-\(phone)/instances/card-\(phone)",
            #"{"type":"OrderTracking","activity":"\#(activity(phone / phones))","state":"active","#
                + way + #","contentState":\#(Self.state(step))}"#)
    }

    /// Returns a call by which the first phone of an activity announces its card.
    func announcement(_ index: Int) -> APICall {
        let phone = firstPhone(of: index)
        return APICall(
            "/v1/devices/phone-\(phone)/instances/card-\(phone)",
            #"{"type":"OrderTracking","activity":"\#(activity(index))","state":"requesting"}"#)
    }

    func firstPhone(of index: Int) -> Int { index * phones }
}

/// One `PUT` call of the API.
struct APICall: Sendable {
    let path: String
    /// Body as JSON in one line.
    let body: String

    init(_ path: String, _ body: String) {
        self.path = path
        self.body = body
    }

    /// Line of the call in `POST /v1/batch`.
    var line: String { #"{"method":"PUT","path":"\#(path)","body":\#(body)}"# + "\n" }
}
