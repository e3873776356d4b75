package import APNSModel

/// Claims ordinary notifications that are due, longest waiting first.
///
/// The claim is written to each row before anything leaves. It counts an attempt and delays the row until the lease
/// expires. Then a lost process's rows are claimed again, and sent with the same `apns-id`.
package struct ClaimNotifications: Command {
    package struct Limits: Sendable, Equatable {
        /// Maximum number of notifications that one claim looks at.
        package var notifications = 256
        /// Maximum number of pushes in one claim. At most half of them belong to one notification.
        package var pushes = 1000
        /// Time from the claim until the row may be claimed again.
        package var lease = Duration.seconds(15)

        package init() {}
    }

    package struct Reply: Sendable {
        package var flight: NotificationFlight
        /// Closed routes whose probe is among the seats.
        package var probed: Set<PushRoute> = []
        /// Closed routes on which a push was held back.
        package var held: Set<PushRoute> = []
        /// Number of notifications given up before they were sent, by reason.
        package var dropped: [Reason.Code: Int] = [:]
        /// Descriptions of work that was skipped because it could not be read.
        package var unreadable: [String] = []
    }

    package let now: UnixTime
    package let limits: Limits
    package let gate: CircuitGate
    package let pace: Pacer.Grant
    /// Environments that each app's pushes may go to. An app that is not listed may use any environment.
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

    /// Time for which unreadable work is left alone.
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

    /// Capacity that is left to this claim, and what it has taken and dropped.
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
        // Devices of the page that were not looked at, and those beyond it, wait until then.
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
                // The row waits by itself, so that a device on the other route does not wait behind it.
                put(off: addressee, until: closure.until, closure.reason, &draft)
                wait(closure.until)
                guard environments[notification.app] == [token.environment] else { continue }
                // There is no other route, so the notification waits as a whole, and nothing is written for the other
                // devices.
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

    /// Returns when to look at a notification again.
    ///
    /// - Parameters:
    ///   - rest: Time for the due devices that were not looked at; `nil` if all were.
    ///   - waiting: Earliest time of the other devices.
    private func nextLook(
        at notification: NotificationRecord, _ rest: UnixTime?, _ waiting: UnixTime?
    ) -> UnixTime {
        if let rest { return min(rest, max(now, notification.expiresAt)) }
        // Every readable row was given up, so the remaining ones cannot be read.
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
        // A parked row is in the timeline already.
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
    /// Takes back a notification that the phone did not get, so that a card can be started for its state, or its alert
    /// be told, once a token is there.
    ///
    /// This applies only if the token was at fault. After an expiry or a mistake of Islet, the same would follow again
    /// and again.
    mutating func takeBack(_ fallback: NotificationRecord.Fallback, on device: DeviceKey, _ reason: Reason) {
        guard reason.code.isOfDeviceToken,
            var card = snapshot.cards[.init(fallback.activity, device)], card.run == fallback.run
        else { return }
        if card.alerts.told == fallback.revision {
            card.takeFallBackBack()
        } else if card.subscription != nil {
            card.takeAlertBack(fallback.revision)
        }
        put(card)
    }
}

extension AddresseeRecord {
    /// `true` if nothing was sent to the phone, or APNs refused the only attempt. The results of earlier attempts are
    /// not stored.
    fileprivate var cannotHaveArrived: Bool { tries == 0 || tries == 1 && (reason?.code.isOfDeviceToken ?? false) }
}
