import LiveActivityCore
import TestSupport

/// **Nothing stays** that nobody needs: a phone's actions never create rows that no erasure finds.
///
/// At rest:
///
/// - Each token with an owner is held by a row of that device.
/// - Each token's row belongs to a card's row.
/// - Notifications whose time has passed are gone.
///
/// The store erases released tokens in time (`KeptRowsTests`, `TokenMemoryTests`).
final class NothingStays: Invariant {
    func see(_ event: Observation, in world: World) {
        guard case .atRest = event else { return }
        checkInvented(world)
        let rows = world.store.rows
        for owner in rows.owners.values where owner.deadAt == nil && owner.releasedAt == nil && !isHeld(owner, rows) {
            world.violate(.nothingStays, "nobody has \(owner.value), and it counts as that of \(owner.device)")
        }
        for (key, token) in rows.updateTokens where rows.cards[key] == nil {
            world.violate(.nothingStays, "\(token.value) stays without a card's row")
        }
        for (device, marks) in Dictionary(grouping: rows.tombstones.keys, by: \.device)
        where marks.count > TombstoneRecord.maximum {
            world.violate(.nothingStays, "\(marks.count) cards that are over are kept of \(device)")
        }
        for (number, notification) in rows.notifications where notification.expiresAt < world.serverTime {
            world.violate(.nothingStays, "notification \(number) has expired, and stays")
        }
        for key in rows.addressees.keys where rows.notifications[key.notification] == nil {
            world.violate(.nothingStays, "somebody is to be told a notification that is gone")
        }
    }

    /// Checks that invented activities cost at most `Inventor.perDay` rows a day, and none after signing out.
    private func checkInvented(_ world: World) {
        // Setting a clock back starts another day.
        let days = 1 + Int(world.now / 86_400_000) + world.counts.happenings[.clockStepped, default: 0]
        let rows = world.store.rows
        let cards = rows.cards.keys.count { $0.device == Phone.key(Inventor.device) }
        let activities = rows.activities.values.count { $0.id.text.hasPrefix(Inventor.activities) }
        if max(cards, activities) > days * Inventor.perDay {
            world.violate(
                .nothingStays, "\(cards) cards of \(activities) invented activities are kept after \(days) days")
        }
    }

    private func isHeld(_ owner: TokenOwnerRecord, _ rows: Snapshot) -> Bool {
        switch owner.kind {
        case .update:
            rows.updateTokens[.init(owner.activity, owner.device)]?.values.contains(owner.value) ?? false
        case .device, .pushToStart:
            rows.deviceTokens.values.contains { $0.device == owner.device && $0.value == owner.value }
        }
    }
}
