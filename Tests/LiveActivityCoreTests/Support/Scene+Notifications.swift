import APNSModel
import LiveActivityCore
import TestSupport

extension Scene {
    /// Registers the device again with further facts about itself.
    mutating func say(
        _ device: String = "phone", user: String = "ann", _ change: (inout RegisterDevice.Body) -> Void
    )
        throws
    {
        var body = RegisterDevice.Body(user: Sample.user(user))
        change(&body)
        _ = try run(RegisterDevice(app: app, id: Sample.device(device), body: body, now: now, freshKey: 7))
    }

    @discardableResult
    mutating func notify(
        _ user: String = "ann", _ kind: NotificationRecord.Kind = .alert, number: UInt64 = 1,
        _ change: (inout NotifyUser.Body) -> Void = { _ in }
    ) throws -> NotifyUser.Reply {
        let payload = kind == .alert ? try AlertPayload(Sample.alert).bytes : BackgroundPayload().bytes
        var body = NotifyUser.Body(kind, payload: payload)
        change(&body)
        return try run(
            NotifyUser(app: app.bundleID, user: Sample.user(user), body: body, now: now, random: number))
    }

    mutating func claimNotifications(
        _ limits: ClaimNotifications.Limits = .init(), gate: CircuitGate = .open
    ) throws -> ClaimNotifications.Reply {
        try run(ClaimNotifications(now: now, limits: limits, gate: gate))
    }

    @discardableResult
    mutating func settle(
        _ flight: NotificationFlight, _ outcome: (NotificationFlight.Seat) -> Result<PushAnswer, PushFailure>
    ) throws -> SettleNotifications.Reply {
        try run(
            SettleNotifications(
                entries: flight.seats.map { .init(seat: $0, outcome: outcome($0), dice: 0.5) },
                apps: [app.bundleID: app], now: now))
    }

    /// Claims and answers until no notification is due. Returns the notifications sent, in order.
    @discardableResult
    mutating func deliverNotifications(
        _ answer: PushAnswer = PushAnswer(status: 200)
    ) throws -> [NotificationFlight.Seat] {
        var sent: [NotificationFlight.Seat] = []
        for _ in 0..<50 {
            let flight = try claimNotifications().flight
            guard !flight.seats.isEmpty else { return sent }
            sent += flight.seats
            try settle(flight) { _ in .success(answer) }
        }
        return sent
    }

    var waiting: (notifications: Int, addressees: Int) {
        (store.rows.notifications.count, store.rows.addressees.count)
    }
}

extension PushAnswer {
    static func refusal(_ reason: APNSReason.Known, inactiveSince: UnixTime? = nil) -> Self {
        PushAnswer(status: reason.status, reason: .known(reason), inactiveSince: inactiveSince)
    }
}
