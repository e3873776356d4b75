package import APNSModel

/// Claims ordinary notifications that are due, the longest waiting first.
///
/// A claim is written into each row before anything leaves: it counts a try and puts the row off until its lease is
/// over. What a lost process had claimed is claimed again then, and sent with the same `apns-id`.
package struct ClaimNotifications: Command {
    package struct Limits: Sendable, Equatable {
        /// Notifications looked at in one claim.
        package var notifications = 256
        /// Pushes of one claim; at most half of them of one notification.
        package var pushes = 1000
        /// From the claim to the instant after which it may be claimed again.
        package var lease = Duration.seconds(15)

        package init() {}
    }

    package struct Reply: Sendable {
        package var flight: NotificationFlight
        /// Closed routes whose one probe is among the seats.
        package var probed: Set<PushRoute> = []
        /// Closed routes on which something was held back.
        package var held: Set<PushRoute> = []
        /// What was given up before it was sent, and why.
        package var dropped: [Reason.Code: Int] = [:]
        /// What had to be passed over, since it could not be read.
        package var unreadable: [String] = []
    }

    package let now: UnixTime
    package let limits: Limits
    package let gate: CircuitGate
    package let pace: Pacer.Grant
    /// Where each app's pushes may go; an app that is not there: anywhere.
    package let environments: [BundleID: Set<APNSEnvironment>]

    package init(
        now: UnixTime, limits: Limits = Limits(), gate: CircuitGate = .open, pace: Pacer.Grant = Pacer.unlimited,
        environments: [BundleID: Set<APNSEnvironment>] = [:]
    ) {
        self.now = now
        self.limits = limits
        self.gate = gate
        self.pace = pace
        self.environments = environments
    }

    /// How long what cannot be read is left alone.
    package static let unreadablePause = Duration.seconds(60)

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .claim }
    package var keys: [SnapshotKey] {
        let pushes = max(1, min(limits.pushes, pace.pushes))
        return [
            .dueNotifications(
                DueNotifications(
                    at: now, notifications: limits.notifications, addressees: pushes,
                    addresseesOfOne: max(1, pushes / 2)))
        ]
    }

    /// What this claim may still take, and what it took so far.
    private struct Room {
        var gate: CircuitGate
        var pace: Pacer.Grant
        var seats: [NotificationFlight.Seat] = []
        var dropped: [Reason.Code: Int] = [:]
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var room = Room(gate: gate, pace: pace)
        for number in draft.snapshot.dueNotifications {
            guard let notification = draft.snapshot.notifications[number],
                let page = draft.snapshot.notificationPages[number]
            else { continue }
            claim(notification, page, &room, &draft)
        }
        return Reply(
            flight: NotificationFlight(claimedAt: now, seats: room.seats), probed: room.gate.probed,
            held: room.gate.held, dropped: room.dropped, unreadable: draft.snapshot.unreadable)
    }

    private func claim(
        _ notification: NotificationRecord, _ page: Snapshot.NotificationPage, _ room: inout Room, _ draft: inout Draft
    ) {
        var waitsUntil = page.nextDueAt
        // Those of the page that were not looked at, and those beyond it, wait until then.
        var restWaitsUntil: UnixTime?
        func wait(_ time: UnixTime) { waitsUntil = min(waitsUntil ?? time, time) }
        for device in page.devices {
            guard let addressee = draft.snapshot.addressees[.init(notification.number, device)] else { continue }
            if let obstacle = obstacle(to: notification, addressee, draft) {
                room.dropped[obstacle.code, default: 0] += 1
                give(up: addressee, notification, obstacle, &draft)
                continue
            }
            guard let record = draft.snapshot.devices[device],
                let token = draft.snapshot.deviceTokens[.init(device, .device, "")]
            else { continue }
            guard room.pace.room(of: notification.number) > 0 else {
                restWaitsUntil = now + Pacer.pause
                break
            }
            let route = PushRoute(notification.app, token.environment)
            if case .hold(let closure) = room.gate.admit(isHarmless: notification.kind == .background, to: route) {
                // The row waits by itself, so that one on the other route does not wait behind it.
                put(off: addressee, until: closure.until, closure.reason, &draft)
                wait(closure.until)
                guard environments[notification.app] == [token.environment] else { continue }
                // There is no other route: the notification waits as a whole, and nothing is written for the others.
                restWaitsUntil = closure.until
                break
            }
            var claimed = addressee
            claimed.tries += 1
            claimed.dueAt = now + limits.lease
            claimed.reason = nil
            draft.put(claimed)
            wait(now + limits.lease)
            room.pace.take(1, of: notification.number)
            room.seats.append(
                .init(notification: notification, addressee: claimed, device: record, token: token))
        }
        guard var left = draft.snapshot.notifications[notification.number] else { return }
        left.nextAt = nextLook(at: left, restWaitsUntil ?? (page.isComplete ? nil : now), waitsUntil)
        draft.put(left)
    }

    /// - Parameters:
    ///   - rest: When those that were due and not looked at are; `nil`: all were.
    ///   - waiting: When the first of the others is.
    private func nextLook(
        at notification: NotificationRecord, _ rest: UnixTime?, _ waiting: UnixTime?
    ) -> UnixTime {
        if let rest { return min(rest, max(now, notification.expiresAt)) }
        // All that could be read was given up: what is still there cannot be read.
        guard now < notification.expiresAt else { return now + Self.unreadablePause }
        return min(waiting ?? notification.expiresAt, notification.expiresAt)
    }

    private func put(off addressee: AddresseeRecord, until time: UnixTime, _ reason: Reason, _ draft: inout Draft) {
        var waiting = addressee
        waiting.dueAt = time
        waiting.reason = reason
        draft.put(waiting)
    }

    private func obstacle(
        to notification: NotificationRecord, _ addressee: AddresseeRecord, _ draft: Draft
    ) -> Reason? {
        if now >= notification.expiresAt { return addressee.dueAt == nil ? addressee.reason : Reason(.expired) }
        guard let device = draft.snapshot.devices[addressee.device], device.userID == addressee.user else {
            return Reason(.signedOut)
        }
        return notification.kind.obstacle(device.facts, draft.snapshot.deviceTokens[.init(device.key, .device, "")])
    }

    private func give(
        up addressee: AddresseeRecord, _ notification: NotificationRecord, _ reason: Reason, _ draft: inout Draft
    ) {
        draft.settle(addressee.key)
        // What was parked is in the timeline already.
        guard let fallback = notification.fallback, addressee.dueAt != nil else { return }
        if addressee.cannotHaveArrived { draft.takeBack(fallback, on: addressee.device, reason) }
        draft.record(
            HistoryRecord(
                activity: fallback.activity, at: now, revision: fallback.revision,
                entries: [
                    HistoryEntry(
                        .fallback, device: addressee.device, at: now, revision: fallback.revision, outcome: reason)
                ]))
    }
}

extension Draft {
    /// The phone was told nothing after all: a card may be started for that state once there is a way.
    ///
    /// Only where the token was at fault. Of what went out of date, or what our own mistake kept from leaving, the same
    /// would follow again and again.
    mutating func takeBack(_ fallback: NotificationRecord.Fallback, on device: DeviceKey, _ reason: Reason) {
        guard reason.code.isOfDeviceToken,
            var card = snapshot.cards[.init(fallback.activity, device)], card.run == fallback.run,
            card.alerts.told == fallback.revision
        else { return }
        card.takeFallBackBack()
        put(card)
    }
}

extension AddresseeRecord {
    /// Nothing left for this phone, or APNs refused all that did: of an earlier attempt nothing is known any more.
    fileprivate var cannotHaveArrived: Bool { tries == 0 || tries == 1 && (reason?.code.isOfDeviceToken ?? false) }
}
