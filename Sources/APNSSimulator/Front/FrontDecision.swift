internal import APNSModel
internal import JSONText

/// What goes back over the wire.
struct FrontAnswer: Sendable, Hashable {
    var status: Int
    var reason: String?
    var timestamp: UnixTime?
    var id: PushID?
    /// Sandbox only.
    var uniqueID: PushID?
    var date: UnixTime?
    /// Of broadcasts and channel management, in the place of `id`.
    var requestID: PushID?
    /// Of a channel that was made.
    var channelID: String?
    /// The body of a success that has one.
    var content: [UInt8]?

    init(status: Int, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    /// - Parameter usesWireSpelling: Whether `BadEnvironmentKeyInToken` is said as it is seen in the field, or as
    ///   Apple's page has it.
    init(_ refusal: Refusal, usesWireSpelling: Bool) {
        status = refusal.status
        reason =
            usesWireSpelling && refusal.reason == .badEnvironmentKeyIdInToken
            ? "BadEnvironmentKeyInToken" : refusal.reason.rawValue
        timestamp = refusal.timestamp
    }

    /// The body; empty on 200. `timestamp` is in milliseconds, on 410 only.
    var body: [UInt8] {
        guard let reason else { return content ?? [] }
        var object: JSONObject = ["reason": .string(reason)]
        if status == 410, let timestamp { object["timestamp"] = .number(JSONNumber(Int(timestamp.milliseconds))) }
        return JSONValue.object(object).bytes
    }
}

/// What a connection does about one request.
struct FrontDecision: Sendable, Hashable {
    enum Way: Sendable, Hashable {
        case answer
        case answerLater(Duration)
        case refuseStream
        case resetStream
        case close
        case abort
        case silence
    }

    struct GoAway: Sendable, Hashable {
        let reason: String
        let lastStreamID: Int
    }

    /// What was, or would have been, answered; `nil` when the request was not judged.
    var answer: FrontAnswer?
    var way = Way.answer
    var goAway: GoAway?
    /// How many streams the connection has from now on.
    var streams: Int?
    /// Whether the request is judged and takes effect.
    private(set) var processes = true

    /// How a fault, if there is one, changes the course of a request.
    init(_ fault: FaultRule.Effect?, on arrival: PushArrival) {
        switch fault {
        case nil: break
        case .refuse(let status, let reason):
            answer = FrontAnswer(status: status, reason: reason)
            processes = false
        case .stall: (way, processes) = (.silence, false)
        case .refuseStream: (way, processes) = (.refuseStream, false)
        case .loseAnswer(.reset): way = .resetStream
        case .loseAnswer(.close): way = .close
        case .loseAnswer(.abort): way = .abort
        case .loseAnswer(.silence): way = .silence
        case .slow(let delay): way = .answerLater(max(.zero, min(delay, FaultRule.Effect.slowest)))
        case .limitStreams(let count): streams = max(1, count)
        case .goAway(let reason, let last):
            let lastStreamID =
                switch last {
                case .this: arrival.streamID
                case .previous: max(0, arrival.streamID - 2)
                case .id(let id): max(0, id)
                }
            goAway = GoAway(reason: reason, lastStreamID: lastStreamID)
            if arrival.streamID > lastStreamID { (way, processes) = (.silence, false) }
        }
    }
}
