package import APNSModel

/// Number of an ordinary notification. It is random and negative, so it never equals an activity's number.
package typealias NotificationNumber = Int64

/// Ordinary notification, stored once for all of its devices.
///
/// A notification is sent as it was requested: nothing newer replaces it, unlike a state. Each device that has not got
/// it yet has a row (`AddresseeRecord`). When the last of them is settled, the notification is erased.
package struct NotificationRecord: Sendable, Equatable {
    package enum Kind: Int, Sendable, CaseIterable {
        case alert = 1
        case background = 2

        package var name: String { "\(self)" }
    }

    /// State for which a fallback is sent in place of a card.
    package struct Fallback: Sendable, Equatable {
        package var activity: ActivityNumber
        package var run: Int
        package var revision: Revision

        package init(activity: ActivityNumber, run: Int, revision: Revision) {
            self.activity = activity
            self.run = run
            self.revision = revision
        }
    }

    package var number: NotificationNumber
    package var app: BundleID
    package var kind: Kind
    /// Body as it is sent.
    package var payload: [UInt8]
    /// Collapse id of the caller; `nil` to use one that is unique to this notification.
    package var ownCollapseID: CollapseID?
    package var expiresAt: UnixTime
    package var fallback: Fallback?
    /// Number of devices that have not got the notification yet.
    package var addressees = 0
    /// Time at which a claim must look at the notification.
    package var nextAt: UnixTime

    package init(
        number: NotificationNumber, app: BundleID, kind: Kind, payload: [UInt8], collapseID: CollapseID? = nil,
        expiresAt: UnixTime, fallback: Fallback? = nil, at now: UnixTime
    ) {
        self.number = number
        self.app = app
        self.kind = kind
        self.payload = payload
        ownCollapseID = collapseID
        self.expiresAt = expiresAt
        self.fallback = fallback
        nextAt = now
    }

    /// Returns the `apns-id` of the push to a device. Repeats have the same id.
    package func pushID(of device: DeviceKey) -> PushID { PushID.of(device, seed: seed) }

    /// Seed of the push ids.
    package var seed: UInt64 { UInt64(bitPattern: number) }

    /// Returns a number made from a random word.
    package static func number(random words: UInt64) -> NotificationNumber {
        NotificationNumber(bitPattern: words | 1 << 63)
    }

    /// Collapse id of the push. Repeats have the same one, so the phone shows one notification even if two arrive.
    package var collapseID: CollapseID? { ownCollapseID ?? CollapseID("islet-n" + String(seed, radix: 16)) }
}

/// Device that has not got an ordinary notification yet.
package struct AddresseeRecord: Sendable, Equatable {
    package var notification: NotificationNumber
    package var device: DeviceKey
    /// Person that the notification is for. The device may have another person by the time it is sent.
    package var user: UserID
    /// Time at which the push is due, or at which the lease of a claim expires; `nil` if the row is parked.
    package var dueAt: UnixTime?
    /// Number of claims.
    package var tries: Int = 0
    /// `true` if APNs refused the token for its environment once. The other environment is not tried again.
    package var triedOther = false
    /// Reason why the row waits or is parked.
    package var reason: Reason?

    package init(notification: NotificationNumber, device: DeviceKey, user: UserID, dueAt: UnixTime?) {
        self.notification = notification
        self.device = device
        self.user = user
        self.dueAt = dueAt
    }

    package var key: AddresseeKey { AddresseeKey(notification, device) }
}

package struct AddresseeKey: Sendable, Hashable, Comparable {
    package let notification: NotificationNumber
    package let device: DeviceKey

    package init(_ notification: NotificationNumber, _ device: DeviceKey) {
        self.notification = notification
        self.device = device
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.notification, left.device) < (right.notification, right.device)
    }
}

/// Claimed pushes of any number of ordinary notifications.
package struct NotificationFlight: Sendable {
    /// One device's place in a flight.
    package struct Seat: Sendable {
        package var notification: NotificationRecord
        package var addressee: AddresseeRecord
        package var device: DeviceRecord
        package var token: DeviceTokenRecord

        package var route: PushRoute { PushRoute(notification.app, token.environment) }

        /// Request of the push; `nil` if the stored value is not a token.
        package var request: PushRequest? {
            guard let value = try? DeviceToken(hex: token.value.hex) else { return nil }
            let envelope = PushRequest.Envelope(
                bundleID: notification.app, environment: token.environment,
                priority: notification.kind == .alert ? .high : .low, expiration: .at(notification.expiresAt),
                collapseID: notification.collapseID, id: notification.pushID(of: device.key))
            return switch notification.kind {
            case .alert: .alert(AlertPayload(kept: notification.payload), to: value, envelope)
            case .background: .background(BackgroundPayload(kept: notification.payload), to: value, envelope)
            }
        }
    }

    package var claimedAt: UnixTime
    package var seats: [Seat]

    package init(claimedAt: UnixTime, seats: [Seat]) {
        self.claimedAt = claimedAt
        self.seats = seats
    }
}

extension NotificationRecord.Kind {
    /// Returns the reason why a device cannot get an ordinary notification; `nil` if it can.
    package func obstacle(_ device: DeviceFacts, _ token: DeviceTokenRecord?) -> Reason? {
        if device.signedOutAt != nil { return Reason(.signedOut) }
        guard let token else { return Reason(.noDeviceToken) }
        if token.deadAt != nil { return Reason(.deviceTokenDead) }
        // iOS shows no alert for these two values of `UNAuthorizationStatus`. Background pushes need no permission.
        if self == .alert, let status = device.notificationAuthorization, ["denied", "notDetermined"].contains(status) {
            return Reason(.notificationsDenied)
        }
        return nil
    }
}
