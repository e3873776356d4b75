package import APNSModel

/// Sends a person an ordinary notification. From the commit on, it is kept until every device has got it.
package struct NotifyUser: Command {
    package struct Body: Sendable, Equatable {
        package var kind: NotificationRecord.Kind
        package var payload: [UInt8]
        package var collapseID: CollapseID?
        package var expiresAfter: Duration
        package var devices: ActivityRecord.DeviceSelection

        package init(
            _ kind: NotificationRecord.Kind, payload: [UInt8], collapseID: CollapseID? = nil,
            expiresAfter: Duration = NotifyUser.lifetime, devices: ActivityRecord.DeviceSelection = .all
        ) {
            self.kind = kind
            self.payload = payload
            self.collapseID = collapseID
            self.expiresAfter = expiresAfter
            self.devices = devices
        }
    }

    package struct Reply: Sendable, Equatable, IdempotentReply {
        /// Number of devices that will get the notification.
        package var devices: Int
        /// Reasons why the other devices do not get it, most frequent first. Equal counts are ordered by name, so that
        /// equal replies are identical.
        package var reasons: [Count]

        /// Number of devices with a reason.
        package struct Count: Sendable, Equatable, Codable {
            package var reason: String
            package var devices: Int
        }

        package init(devices: Int, reasons: [String: Int]) {
            self.devices = devices
            self.reasons = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { Count(reason: $0.key, devices: $0.value) }
        }
    }

    /// Default time for which a notification is worth delivering.
    package static let lifetime = Duration.seconds(24 * 3600)

    package let app: BundleID
    package let user: UserID
    package let body: Body
    package let now: UnixTime
    /// Random number of the notification.
    package let number: NotificationNumber

    package init(app: BundleID, user: UserID, body: Body, now: UnixTime, random words: UInt64) {
        self.app = app
        self.user = user
        self.body = body
        self.now = now
        number = NotificationRecord.number(random: words)
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.users(app, [user], nil)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard let user = draft.snapshot.users[.init(app, user)] else { return Reply(devices: 0, reasons: [:]) }
        var reasons: [String: Int] = [:]
        var reachable: [DeviceFacts] = []
        for device in draft.devices(of: user).map(\.facts) {
            let token = draft.snapshot.deviceTokens[.init(device.key, .device, "")]
            if case .only(let ids) = body.devices, !ids.contains(device.id) { continue }
            if let obstacle = body.kind.obstacle(device, token) {
                reasons[obstacle.code.rawValue, default: 0] += 1
            } else {
                reachable.append(device)
            }
        }
        if body.devices == .lastActive,
            let last = reachable.max(by: { ($0.contactAt, $0.key) < ($1.contactAt, $1.key) }), reachable.count > 1
        {
            reasons[Reason.Code.otherDeviceActive.rawValue] = reachable.count - 1
            reachable = [last]
        }
        guard !reachable.isEmpty else { return Reply(devices: 0, reasons: reasons) }
        draft.notify(
            reachable,
            NotificationRecord(
                number: number, app: app, kind: body.kind, payload: body.payload, collapseID: body.collapseID,
                expiresAt: now + body.expiresAfter, at: now))
        return Reply(devices: reachable.count, reasons: reasons)
    }
}

extension Draft {
    /// Stores a notification for these devices, due now.
    package mutating func notify(_ devices: [DeviceFacts], _ notification: NotificationRecord) {
        var record = snapshot.notifications[notification.number] ?? notification
        for device in devices {
            let addressee = AddresseeRecord(
                notification: record.number, device: device.key, user: device.userID, dueAt: record.nextAt)
            guard snapshot.addressees[addressee.key] == nil else { continue }
            put(addressee)
            record.addressees += 1
        }
        put(record)
    }

    /// Settles a device that has got the notification or never will. With the last device, the notification is erased.
    mutating func settle(_ addressee: AddresseeKey) {
        guard snapshot.addressees[addressee] != nil, var record = snapshot.notifications[addressee.notification] else {
            return
        }
        remove(addressee)
        record.addressees -= 1
        if record.addressees > 0 { put(record) } else { removeNotification(record.number) }
    }

    /// Asks the app on a device, once, to read its push-to-start token again. Cards started with the suspect token do
    /// not appear in the phone's inventories.
    mutating func askForTokens(_ device: DeviceRecord, suspect: DeviceTokenRecord, at now: UnixTime) {
        let token = snapshot.deviceTokens[.init(device.key, .device, "")]
        guard NotificationRecord.Kind.background.obstacle(device.facts, token) == nil else { return }
        // The number follows from the device and the token value, so that repeats of this case remain one notification.
        let number = NotificationRecord.number(random: Digest.fnv1a("\(device.key) \(suspect.value.hex)".utf8))
        notify(
            [device.facts],
            NotificationRecord(
                number: number, app: device.app, kind: .background, payload: BackgroundPayload().bytes,
                expiresAt: now + .seconds(3600), at: now))
    }
}
