import APNSModel
import LiveActivityCore

extension ModelStore {
    func loadNotifications(_ due: DueNotifications, _ part: inout Snapshot) {
        let all = rows.notifications.values.filter { $0.nextAt <= due.at }
            .sorted { ($0.nextAt, $0.number) < ($1.nextAt, $1.number) }
        var room = due.addressees
        for notification in all.prefix(due.notifications) where room > 0 {
            let limit = min(room, due.addresseesOfOne)
            let own = rows.addressees.values.filter { $0.notification == notification.number }
                .sorted { $0.key < $1.key }
            let isOver = due.at >= notification.expiresAt
            let waiting = own.compactMap { row in row.dueAt.map { (at: $0, row: row) } }.filter { $0.at <= due.at }
            let found =
                isOver
                ? own : waiting.sorted { ($0.at, $0.row.device) < ($1.at, $1.row.device) }.map(\.row)
            let page = found.prefix(limit)
            room -= page.count
            part.notifications[notification.number] = notification
            part.dueNotifications.append(notification.number)
            part.notificationPages[notification.number] = .init(
                devices: page.map(\.device), isComplete: found.count <= limit,
                nextDueAt: isOver ? nil : own.compactMap(\.dueAt).filter { $0 > due.at }.min())
            for row in page {
                part.addressees[row.key] = row
                part.devices[row.device] = rows.devices[row.device]
                let token = Snapshot.DeviceTokenKey(row.device, .device, "")
                part.deviceTokens[token] = rows.deviceTokens[token]
                loadInstance(of: notification, on: row.device, &part)
            }
        }
    }

    func loadAddressees(_ keys: [AddresseeKey], _ part: inout Snapshot) {
        for key in keys {
            part.addressees[key] = rows.addressees[key]
            guard let notification = rows.notifications[key.notification] else { continue }
            part.notifications[key.notification] = notification
            if rows.addressees[key] != nil { loadInstance(of: notification, on: key.device, &part) }
        }
    }

    private func loadInstance(of notification: NotificationRecord, on device: DeviceKey, _ part: inout Snapshot) {
        guard let fallback = notification.fallback else { return }
        let phone = Snapshot.PhoneKey(fallback.activity, device)
        part.cards[phone] = rows.cards[phone]
    }
}
