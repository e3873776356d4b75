package import APNSModel

/// Stores the results of the pushes of ordinary notifications.
///
/// A push is done if APNs accepted it or will never accept it. Every other push is sent again: the same bytes under the
/// same `apns-id` and collapse id. Two copies are better than none.
package struct SettleNotifications: Command {
    package struct Entry: Sendable {
        package var seat: NotificationFlight.Seat
        package var outcome: Result<PushAnswer, PushFailure>
        /// Random number from 0 to 1 for the jitter of a retry.
        package var dice: Double

        package init(seat: NotificationFlight.Seat, outcome: Result<PushAnswer, PushFailure>, dice: Double) {
            self.seat = seat
            self.outcome = outcome
            self.dice = dice
        }
    }

    package struct Reply: Sendable, Equatable {
        package var accepted = 0
        package var refused = 0
        package var retried = 0
        /// Pushes that APNs refused because of a mistake of Islet, with details for the log.
        package var parked: [Parked] = []
    }

    package struct Parked: Sendable, Equatable {
        package var app: BundleID
        package var pushID: PushID
        package var reason: Reason
    }

    package let entries: [Entry]
    package let apps: [BundleID: AppSettings]
    package let now: UnixTime

    package init(entries: [Entry], apps: [BundleID: AppSettings], now: UnixTime) {
        // The order of the table, so that the pages written are neighbors.
        self.entries = entries.sorted { $0.seat.addressee.key < $1.seat.addressee.key }
        self.apps = apps
        self.now = now
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .settle }
    package var weight: Int { entries.count }
    package var keys: [SnapshotKey] {
        let refused = Dictionary(grouping: entries.filter(\.mayKillToken), by: \.seat.notification.app)
        return [.addressees(entries.map(\.seat.addressee.key))]
            + refused.map { app, entries in .owners(app, entries.map(\.seat.token.value)) }
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        var histories: [NotificationNumber: [HistoryEntry]] = [:]
        for entry in entries {
            let consequence = consequence(entry)
            settle(entry, consequence, &reply, &draft)
            guard let fallback = entry.seat.notification.fallback else { continue }
            histories[entry.seat.notification.number, default: []].append(
                HistoryEntry(
                    .fallback, device: entry.seat.device.key, at: now, revision: fallback.revision,
                    priority: PushPriority.high.rawValue, carriesAlert: true, status: entry.status,
                    outcome: consequence.reason, pushID: entry.seat.notification.pushID(of: entry.seat.device.key)))
        }
        for entry in entries {
            // Write one row for each notification, in the order of the entries.
            let notification = entry.seat.notification
            guard let fallback = notification.fallback,
                let list = histories.removeValue(forKey: notification.number)
            else { continue }
            draft.record(
                HistoryRecord(
                    activity: fallback.activity, at: now, revision: fallback.revision, entries: list,
                    seed: notification.seed))
        }
        return reply
    }

    private func consequence(_ entry: Entry) -> Consequence {
        let (seat, tries) = (entry.seat, max(0, entry.seat.addressee.tries - 1))
        let environments = apps[seat.notification.app]?.environments ?? []
        return Consequence(
            entry.outcome,
            Consequence.Context(
                tries: tries, laneTries: tries, tokenFirstSeenAt: seat.token.firstSeenAt,
                environment: seat.token.environment,
                mayTryOtherEnvironment: seat.device.environment == nil && !seat.addressee.triedOther
                    && environments.contains(seat.token.environment.other),
                now: now, dice: entry.dice))
    }

    private func settle(
        _ entry: Entry, _ consequence: Consequence, _ reply: inout Reply, _ draft: inout Draft
    ) {
        let (seat, key) = (entry.seat, entry.seat.addressee.key)
        switch consequence {
        case .accepted:
            reply.accepted += 1
            draft.settle(key)
        case .tokenDead(let reason):
            reply.refused += 1
            draft.kill(seat.token, in: seat.notification.app, reason, at: now)
            // The phone may have reported another token while this push was on its way. The next claim uses it. If
            // there is none, that claim gives the notification up.
            retry(entry, at: now, reason, &draft)
        case .retry(let at, let reason), .unknownFate(let at, let reason):
            reply.retried += 1
            retry(entry, at: at, reason, &draft)
        case .laneFault(let fault):
            reply.retried += 1
            let at = fault.retryAt(ofPhone: max(0, seat.addressee.tries - 1), now: now, dice: entry.dice)
            retry(entry, at: at, fault.reason, &draft)
        case .otherEnvironment(let environment, let reason):
            reply.retried += 1
            move(seat.token, to: environment, &draft)
            retry(entry, at: now, reason, triedOther: true, &draft)
        case .parked(let reason):
            reply.refused += 1
            reply.parked.append(
                Parked(app: seat.notification.app, pushID: seat.notification.pushID(of: key.device), reason: reason))
            guard var addressee = draft.snapshot.addressees[key] else { return }
            if addressee.dueAt != nil { tellParked(seat, reason, &draft) }
            addressee.dueAt = nil
            addressee.reason = reason
            draft.put(addressee)
        }
    }

    private func tellParked(_ seat: NotificationFlight.Seat, _ reason: Reason, _ draft: inout Draft) {
        var event = EventRecord(.parked, app: seat.notification.app, at: now)
        if let fallback = seat.notification.fallback {
            event.activity = fallback.activity
            event.run = fallback.run
            event.revision = fallback.revision
        }
        event.device = seat.device.key
        event.reason = reason.code
        draft.tell(event)
    }

    private func retry(
        _ entry: Entry, at time: UnixTime, _ reason: Reason, triedOther: Bool = false, _ draft: inout Draft
    ) {
        // The row was claimed again since, so the result of this attempt no longer matters.
        guard var addressee = draft.snapshot.addressees[entry.seat.addressee.key],
            addressee.tries == entry.seat.addressee.tries, addressee.dueAt != nil,
            var notification = draft.snapshot.notifications[addressee.notification]
        else { return }
        draft.count(.retry(entry.seat.notification.app, reason.code))
        addressee.dueAt = time
        addressee.reason = reason
        addressee.triedOther = addressee.triedOther || triedOther
        draft.put(addressee)
        notification.nextAt = min(notification.nextAt, time)
        draft.put(notification)
    }

    private func move(_ token: DeviceTokenRecord, to environment: APNSEnvironment, _ draft: inout Draft) {
        guard var current = draft.snapshot.deviceTokens[.init(token.device, .device, "")],
            current.value == token.value
        else { return }
        current.environment = environment
        draft.put(current)
    }
}

extension Draft {
    /// Marks this value of a device token as dead for good. A value that has replaced it stays alive.
    fileprivate mutating func kill(_ token: DeviceTokenRecord, in app: BundleID, _ reason: Reason, at now: UnixTime) {
        if var current = snapshot.deviceTokens[.init(token.device, token.kind, token.type)],
            current.value == token.value, current.deadAt == nil
        {
            current.deadAt = now
            put(current)
        }
        var owner =
            snapshot.owners[.init(app, token.value)]
            ?? TokenOwnerRecord(
                app: app, value: token.value, kind: .device, device: token.device, activity: 0,
                firstSeenAt: token.firstSeenAt)
        if owner.deadAt == nil { tell(.dead(.deviceToken, of: token.device, in: app, reason.code, at: now)) }
        owner.deadAt = now
        owner.releasedAt = nil
        put(owner)
    }
}

extension SettleNotifications.Entry {
    fileprivate var mayKillToken: Bool { status == 400 || status == 410 }

    var status: Int {
        if case .success(let answer) = outcome { answer.status } else { 0 }
    }
}
