import APNSModel

extension Draft {
    package mutating func put(_ notification: NotificationRecord) {
        let number = notification.number
        let (old, was) = (snapshot.notifications[number], changes.notifications.contains(number))
        let wasRemoved = changes.removedNotifications.contains(number)
        guard old != notification else { return }
        snapshot.notifications[number] = notification
        changes.notifications.insert(number)
        changes.removedNotifications.remove(number)
        onRefusal { draft in
            draft.snapshot.notifications[number] = old
            if !was { draft.changes.notifications.remove(number) }
            if wasRemoved { draft.changes.removedNotifications.insert(number) }
        }
    }

    package mutating func removeNotification(_ number: NotificationNumber) {
        guard let old = snapshot.notifications.removeValue(forKey: number) else { return }
        let was = changes.notifications.remove(number) != nil
        changes.removedNotifications.insert(number)
        onRefusal { draft in
            draft.snapshot.notifications[number] = old
            if was { draft.changes.notifications.insert(number) }
            draft.changes.removedNotifications.remove(number)
        }
    }

    package mutating func put(_ addressee: AddresseeRecord) {
        let key = addressee.key
        let (old, was) = (snapshot.addressees[key], changes.addressees.contains(key))
        let wasRemoved = changes.removedAddressees.contains(key)
        guard old != addressee else { return }
        snapshot.addressees[key] = addressee
        changes.addressees.insert(key)
        changes.removedAddressees.remove(key)
        onRefusal { draft in
            draft.snapshot.addressees[key] = old
            if !was { draft.changes.addressees.remove(key) }
            if wasRemoved { draft.changes.removedAddressees.insert(key) }
        }
    }

    package mutating func remove(_ key: AddresseeKey) {
        guard let old = snapshot.addressees.removeValue(forKey: key) else { return }
        let was = changes.addressees.remove(key) != nil
        changes.removedAddressees.insert(key)
        onRefusal { draft in
            draft.snapshot.addressees[key] = old
            if was { draft.changes.addressees.insert(key) }
            draft.changes.removedAddressees.remove(key)
        }
    }
}
