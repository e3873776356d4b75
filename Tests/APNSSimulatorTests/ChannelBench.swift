import APNSModel
import JSONText
import Testing

@testable import APNSSimulator

/// APNs with broadcast channels and phones, without a network.
struct ChannelBench {
    var world: World
    var now = Fixture.start
    private let team = Team()

    init(_ rules: ChannelRules = ChannelRules(), topics: Set<BundleID>? = nil) {
        var limits = World.Limits()
        // Without a backend an app's own card is there at once.
        limits.hasBackend = false
        world = World(seed: 3, limits: limits, channelRules: rules)
        world.directory.keys[team.keyID] = team.key(topics: topics)
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        world.advance(to: now)
    }

    // MARK: Calls

    // A call that throws stays in one piece in the macros of Swift Testing.
    mutating func ask(_ change: (inout PushArrival) -> Void) throws -> FrontAnswer? {
        var arrival = PushArrival(environment: .sandbox)
        arrival.authorization = try team.authorization(iat: JSONValue(Int(now.seconds)))
        change(&arrival)
        // Each call has its own connection: on one connection the provider token may change every 20 minutes only.
        var session = ProviderSession()
        return world.accept(arrival, session: &session, now: now).answer
    }

    mutating func manage(
        _ method: String, _ path: String = "channels", _ change: (inout PushArrival) -> Void = { _ in }
    ) throws -> FrontAnswer? {
        try ask {
            $0.isManagement = true
            $0.method = method
            $0.path = "/1/apps/com.acme.pizza/\(path)"
            change(&$0)
        }
    }

    mutating func create(_ policy: Int = 0) throws -> FrontAnswer? {
        try manage("POST") { $0.set(["message-storage-policy": .init(policy), "push-type": "LiveActivity"]) }
    }

    mutating func broadcast(_ id: String?, _ change: (inout PushArrival) -> Void = { _ in }) throws -> FrontAnswer? {
        let timestamp = now.seconds
        return try ask {
            $0.path = "/4/broadcasts/apps/com.acme.pizza"
            $0.channelID = id
            $0.pushType = "liveactivity"
            $0.expiration = "0"
            $0.priority = "10"
            $0.set(Fixture.updateBody(at: timestamp))
            change(&$0)
        }
    }

    /// Makes a channel that stores the most recent message.
    mutating func channel() throws -> ChannelID {
        let answer = try create(1)
        return try #require(answer?.channelID.flatMap { ChannelID($0) })
    }

    /// Broadcasts a state, and returns the status of the answer.
    ///
    /// - Parameters:
    ///   - ahead: Number of seconds by which the timestamp is ahead of the clock.
    ///   - kept: Number of seconds for which APNs stores the message; 0 for not at all.
    @discardableResult
    mutating func send(_ step: String, to channel: ChannelID, ahead: Int64 = 0, kept: Int64 = 0) throws -> Int? {
        let seconds = now.seconds
        let answer = try broadcast(channel.text) {
            $0.set(Fixture.updateBody(at: seconds + ahead, Fixture.state(step)))
            if kept > 0 { $0.expiration = String(seconds + kept) }
        }
        return answer?.status
    }

    // MARK: Phones

    /// Adds a phone whose app starts a card on the channel.
    mutating func fan(of channel: ChannelID, limits: DeviceLimits = DeviceLimits()) throws -> PhoneID {
        let phone = try world.add(
            Fixture.specification { $0.appState = .foreground }, limits: limits, now: now)
        let start = PhoneAction.LocalStart(
            attributesType: "OrderAttributes", attributes: ["orderId": "A1"],
            contentState: ["step": "cooking", "eta": 5], channel: channel)
        try act(.startLocally(start), on: phone)
        return phone
    }

    /// Adds a phone on which a push starts a card on the channel.
    mutating func fanByPush(of channel: ChannelID) throws -> PhoneID {
        let phone = try world.add(Fixture.specification(), limits: DeviceLimits(), now: now)
        let token = try world.slot(of: phone).phone.pushToStartToken
        let path = "/3/device/" + (try #require(token)).hex
        let body = Fixture.startBody(at: now.seconds, ["input-push-channel": JSONValue.string(channel.text)])
        let answer = try ask {
            $0.path = path
            $0.topic = Fixture.topic
            $0.pushType = "liveactivity"
            $0.set(body)
        }
        #expect(answer?.status == 200)
        return phone
    }

    mutating func act(_ action: PhoneAction, on phone: PhoneID) throws {
        _ = try world.perform(action, on: phone, now: now)
    }

    /// The step that the phone's only card shows.
    func step(of phone: PhoneID) throws -> String? {
        let cards = try world.lockScreen(of: phone).cards
        return cards.count == 1 ? cards[0].contentState["step"]?.string : nil
    }

    func codes(of phone: PhoneID) throws -> [DeviceLogEntry.Code] {
        try world.slot(of: phone).phone.log.map(\.code)
    }
}

extension PushArrival {
    mutating func set(_ body: JSONObject) {
        self.body = body
        bodyBytes = JSONValue.object(body).bytes.count
    }
}
