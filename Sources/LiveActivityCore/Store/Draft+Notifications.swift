import APNSModel

extension Draft {
    package mutating func put(_ notification: NotificationRecord) {
        guard snapshot.notifications[notification.number] != notification else { return }
        write(notification, at: notification.number, \.notifications, \.notifications, removed: \.removedNotifications)
    }

    package mutating func removeNotification(_ number: NotificationNumber) {
        erase(number, \.notifications, \.notifications, removed: \.removedNotifications)
    }

    package mutating func put(_ addressee: AddresseeRecord) {
        guard snapshot.addressees[addressee.key] != addressee else { return }
        write(addressee, at: addressee.key, \.addressees, \.addressees, removed: \.removedAddressees)
    }

    package mutating func remove(_ key: AddresseeKey) {
        erase(key, \.addressees, \.addressees, removed: \.removedAddressees)
    }
}
