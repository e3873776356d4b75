import APNSModel
import LiveActivityCore
import TestSupport

/// Requests, claims and settlements of ordinary notifications.
extension RandomLife {
    mutating func notify() async throws {
        var body = NotifyUser.Body(dice.pick(NotificationRecord.Kind.allCases), payload: [UInt8(dice.roll(9))])
        body.expiresAfter = .seconds(dice.pick([1, 600, 86_400]))
        body.devices = dice.pick([.all, .lastActive, .only([Sample.device("d1"), Sample.device("d2")])])
        body.collapseID = dice.chance(30) ? CollapseID(word("collapse")) : nil
        let command = NotifyUser(
            app: app().bundleID, user: Sample.user(dice.pick(Self.users)), body: body, now: now, random: dice.next())
        if dice.chance(50) {
            try await pair.run("notify", keyed(command), Self.isSame)
        } else {
            try await pair.run("notify", command)
        }
    }

    mutating func claimNotifications() async throws {
        var limits = ClaimNotifications.Limits()
        if dice.chance(50) {
            limits.notifications = 1 + dice.roll(3)
            limits.pushes = 1 + dice.roll(5)
        }
        try await pair.run(
            "claim notifications", ClaimNotifications(now: now, limits: limits), { $0.isSame(as: $1) },
            then: { $1.notifications.append($0.flight) })
    }

    mutating func settleNotifications() async throws {
        guard !pair.leavings.notifications.isEmpty else { return }
        let index = dice.roll(pair.leavings.notifications.count)
        let flight = pair.leavings.notifications[index]
        if dice.chance(85) { pair.leavings.notifications.remove(at: index) }
        var entries: [SettleNotifications.Entry] = []
        for seat in flight.seats {
            guard case .answered(let answer) = outcome() else { continue }
            entries.append(.init(seat: seat, outcome: answer, dice: dice.fraction()))
        }
        guard !entries.isEmpty else { return }
        try await pair.run(
            "settle notifications",
            SettleNotifications(
                entries: entries, apps: Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { $1 }), now: now))
    }
}
