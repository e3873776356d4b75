package import APNSModel

/// What one ordinary notification is known by: random and negative, so that none is ever taken for an activity.
package typealias NotificationNumber = Int64

/// An ordinary notification: its bytes once, however many devices it is for.
///
/// Unlike a state it is sent as it was asked for: nothing newer takes its place. What is left to do is a row for each
/// device that did not get it yet (`AddresseeRecord`); with the last of them it is erased.
package struct NotificationRecord: Sendable, Equatable {
    package enum Kind: Int, Sendable, CaseIterable {
        case alert = 1
        case background = 2

        package var name: String { "\(self)" }
    }

    /// The state that a notification stands for, where it goes out in place of a card.
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
    /// The body as it is sent.
    package var payload: [UInt8]
    /// The caller's own; without one each notification has one of its own.
    package var ownCollapseID: CollapseID?
    package var expiresAt: UnixTime
    package var fallback: Fallback?
    /// How many devices did not get it yet.
    package var addressees = 0
    /// When a claim is to look at it.
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

    /// The push to a device has this `apns-id`, however often it is sent.
    package func pushID(of device: DeviceKey) -> PushID { PushID.of(device, seed: seed) }

    /// What the ids of its pushes are made from.
    package var seed: UInt64 { UInt64(bitPattern: number) }

    /// A number out of random words.
    package static func number(random words: UInt64) -> NotificationNumber {
        NotificationNumber(bitPattern: words | 1 << 63)
    }

    /// The same on a repeat, so that the phone shows one where two arrive.
    package var collapseID: CollapseID? { ownCollapseID ?? CollapseID("islet-n" + String(seed, radix: 16)) }
}

/// A device that an ordinary notification still has to reach.
package struct AddresseeRecord: Sendable, Equatable {
    package var notification: NotificationNumber
    package var device: DeviceKey
    /// Whom it is for: the device may be another person's by the time it is sent.
    package var user: UserID
    /// When it is to be sent, or after what time whoever had claimed it has it no longer; `nil`: it is parked.
    package var dueAt: UnixTime?
    /// Times that it was claimed.
    package var tries: Int = 0
    /// Refused for its environment once: not tried in the other again.
    package var triedOther = false
    /// Why it waits or is parked.
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

/// Claimed pushes of ordinary notifications, any number of them together.
package struct NotificationFlight: Sendable {
    /// One device's place in it.
    package struct Seat: Sendable {
        package var notification: NotificationRecord
        package var addressee: AddresseeRecord
        package var device: DeviceRecord
        package var token: DeviceTokenRecord

        package var route: PushRoute { PushRoute(notification.app, token.environment) }

        /// The push; `nil` when what was stored is no token.
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
    /// Why a device cannot get an ordinary notification; `nil` when it can.
    package func obstacle(_ device: DeviceFacts, _ token: DeviceTokenRecord?) -> Reason? {
        if device.signedOutAt != nil { return Reason(.signedOut) }
        guard let token else { return Reason(.noDeviceToken) }
        if token.deadAt != nil { return Reason(.deviceTokenDead) }
        // `UNAuthorizationStatus`: of these two iOS shows nothing. Background pushes need no permission.
        if self == .alert, let status = device.notificationAuthorization, ["denied", "notDetermined"].contains(status) {
            return Reason(.notificationsDenied)
        }
        return nil
    }
}
