import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Broadcast channels of the scene's app.
extension Scene {
    static let route = PushRoute(Sample.bundleID, .production)

    /// A scene whose type puts cards on channels, with phones that can show them.
    static func onChannel(
        phones: [String] = ["phone"], _ change: (inout TypePolicy) -> Void = { $0.delivery = .channel }
    ) throws -> Scene {
        var scene = Scene(
            Sample.type {
                $0.startGrace = .zero
                change(&$0)
            })
        for (index, phone) in phones.enumerated() {
            try scene.registerForChannels(phone, user: phone, key: DeviceKey(index + 1) * 1000)
        }
        return scene
    }

    mutating func registerForChannels(_ device: String, user: String, key: DeviceKey) throws {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.osVersion = OSVersion(18, 0)
        body.activitiesEnabled = true
        body.environment = .production
        body.channels = true
        _ = try run(RegisterDevice(app: app, id: Sample.device(device), body: body, now: now, freshKey: key))
        try registerStart(device, "p2s-\(device)")
    }

    mutating func claimChannels(
        inUse: Int? = 0, underWay: Set<ChannelKey> = [], gates: ChannelGates = ChannelGates(),
        certainIn: [PushRoute: Duration] = [:], managementRoom: Int = .max
    ) throws -> ClaimChannels.Reply {
        let counts = inUse.map { [Self.route: $0] } ?? [:]
        return try run(
            ClaimChannels(
                DueChannels(at: now, node: node, limit: 100), apps: [app.bundleID: app], inUse: counts,
                underWay: underWay, certainIn: certainIn, managementRoom: managementRoom, gates: gates))
    }

    @discardableResult
    mutating func settle(_ errand: ChannelErrand, _ outcome: SettleChannel.Outcome) throws -> SettleChannel.Reply {
        try run(SettleChannel(errand, outcome, now: now, dice: 0.5))
    }

    /// Claims and answers until nothing is due. Returns what was done, in order.
    @discardableResult
    mutating func broadcast() throws -> [ChannelErrand] {
        var done: [ChannelErrand] = []
        for _ in 0..<50 {
            let reply = try claimChannels()
            for errand in reply.errands {
                done.append(errand)
                let id = ChannelID("AAAA\(1000 + errand.fence)R00\(errand.channel.key.run)")
                if case .create = errand.flight.kind, let id {
                    try settle(errand, .created(id))
                } else {
                    try settle(errand, .done)
                }
            }
            if reply.errands.isEmpty { return done }
        }
        Issue.record("work is due without end")
        return done
    }

    /// Delivers by token and by channel until nothing is due. Returns the pushes to single phones.
    @discardableResult
    mutating func deliverAll() throws -> (seats: [Flight.Seat], errands: [ChannelErrand]) {
        var (seats, errands): ([Flight.Seat], [ChannelErrand]) = ([], [])
        for _ in 0..<10 {
            let (new, done) = (try deliver(), try broadcast())
            seats += new
            errands += done
            if new.isEmpty, done.isEmpty { break }
        }
        return (seats, errands)
    }

    func channel(run: Int = 1) throws -> ChannelRecord? {
        store.rows.channels[ChannelKey(try activity().number, .production, run: run)]
    }

    /// Refusals of channels in the timeline, in order.
    var refusals: [Reason] {
        store.history.flatMap(\.entries).filter { $0.kind == .channelMade }.compactMap(\.outcome)
            .filter { $0.code == .channelRefused }
    }

    /// A phone whose card is on a channel and shows the newest state.
    static func subscribed(
        phones: [String] = ["phone"], _ change: (inout TypePolicy) -> Void = { $0.delivery = .channel }
    ) throws -> Scene {
        var scene = try onChannel(phones: phones, change)
        try scene.put(users: phones)
        #expect(try scene.deliverAll().seats.count == phones.count)
        for phone in phones { try scene.report(phone, local: "card-\(phone)") }
        scene.wait(.seconds(60))
        return scene
    }
}
