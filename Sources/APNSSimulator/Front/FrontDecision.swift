internal import APNSModel
internal import JSONText

/// An answer to a request.
struct FrontAnswer: Sendable, Hashable {
    var status: Int
    var reason: String?
    var timestamp: UnixTime?
    var id: PushID?
    /// The `apns-unique-id`, which only the sandbox sends.
    var uniqueID: PushID?
    var date: UnixTime?
    /// The `apns-request-id` of broadcasts and channel management, in place of `id`.
    var requestID: PushID?
    /// The id of a new channel.
    var channelID: String?
    /// The body of a success that has one.
    var content: [UInt8]?

    init(status: Int, reason: String? = nil) {
        self.status = status
        self.reason = reason
    }

    /// - Parameter usesWireSpelling: `true` for `BadEnvironmentKeyInToken` as it is seen in the field, `false` for the
    ///   spelling of Apple's page.
    init(_ refusal: Refusal, usesWireSpelling: Bool) {
        status = refusal.status
        reason =
            usesWireSpelling && refusal.reason == .badEnvironmentKeyIdInToken
            ? "BadEnvironmentKeyInToken" : refusal.reason.rawValue
        timestamp = refusal.timestamp
    }

    /// The body; empty on 200. `timestamp` is in milliseconds, and only on 410.
    var body: [UInt8] {
        guard let reason else { return content ?? [] }
        var object: JSONObject = ["reason": .string(reason)]
        if status == 410, let timestamp { object["timestamp"] = .number(JSONNumber(Int(timestamp.milliseconds))) }
        return JSONValue.object(object).bytes
    }
}

/// The reaction of a connection to one request.
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

    /// The answer, also if it is not sent; `nil` if the request was not checked.
    var answer: FrontAnswer?
    var way = Way.answer
    var goAway: GoAway?
    /// Number of streams of the connection from now on; `nil` for no change.
    var streams: Int?
    /// Time from the answer until an accepted push reaches its recipients.
    private(set) var delay = Duration.zero
    /// `true` if the request is checked and takes effect.
    private(set) var processes = true

    /// Creates the reaction to a request under a fault, if there is one.
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
        case .delay(let time): delay = max(.zero, time)
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
