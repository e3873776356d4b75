/// Activities and their phones, and the calls that make and change them.
///
/// The phones of an activity are neighbours in the crowd: phone `n` belongs to activity `n / phones`.
struct Population: Sendable {
    let activities: Int
    /// Of each activity.
    let phones: Int
    var total: Int { activities * phones }

    func activity(_ index: Int) -> String { "order-\(index)" }

    /// The content state of a step: each step's differs from all others.
    static func state(_ step: Int) -> String {
        #"{"status":"preparing","progress":0.5,"eta":\#(step)}"#
    }

    /// Sets an activity's state, at low priority and without an alert.
    func change(_ index: Int, step: Int) -> APICall {
        let id = activity(index)
        return APICall(
            "/v1/activities/\(id)",
            #"{"type":"OrderTracking","priority":"low","state":\#(Self.state(step)),"#
                + #""attributes":{"orderId":"\#(id)","restaurant":"Da Mario"}}"#)
    }

    /// Sets an activity that a person's phone is to be started for.
    func start(_ index: Int, on phone: Int) -> APICall {
        let id = activity(index)
        return APICall(
            "/v1/activities/\(id)",
            #"{"type":"OrderTracking","state":\#(Self.state(index)),"audience":{"users":["user-\#(phone)"]},"#
                + #""attributes":{"orderId":"\#(id)","restaurant":"Da Mario"}}"#)
    }

    /// Names a phone's push-to-start token.
    func startToken(_ phone: Int) -> APICall {
        APICall(
            "/v1/devices/phone-\(phone)/push-to-start-tokens/OrderTracking",
            #"{"token":"\#(CrowdCalls.startToken(of: phone))"}"#)
    }

    /// Registers a phone, of a person of its own.
    func device(_ phone: Int) -> APICall {
        APICall(
            "/v1/devices/phone-\(phone)",
            #"{"user":"user-\#(phone)","osVersion":"18.1","environment":"sandbox","activitiesEnabled":true}"#)
    }

    /// Reports the card that the app started itself: it shows the state of the step, so that no push is due.
    func card(_ phone: Int, step: Int) -> APICall {
        APICall(
            "/v1/devices/phone-\(phone)/instances/card-\(phone)",
            #"{"type":"OrderTracking","activity":"\#(activity(phone / phones))","state":"active","#
                + #""token":"\#(CrowdCalls.token(of: phone))","contentState":\#(Self.state(step))}"#)
    }
}

/// One `PUT` of the API.
struct APICall: Sendable {
    let path: String
    /// JSON in one line.
    let body: String

    init(_ path: String, _ body: String) {
        self.path = path
        self.body = body
    }

    /// A line of `POST /v1/batch`.
    var line: String { #"{"method":"PUT","path":"\#(path)","body":\#(body)}"# + "\n" }
}
