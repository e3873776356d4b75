package import APNSModel
import JSONText

/// Stores a provider's answers for one person in one commit: each device's own activity, the memos, and when to ask
/// again.
///
/// Nothing is stored if another run has begun since.
package struct FinishRefresh: Command {
    package struct Zone: Sendable, Equatable {
        package enum Outcome: Sendable, Equatable {
            case show(RefreshAnswer)
            case nothing
            case failed(RefreshFailure)
        }

        package var name: String
        package var day: String
        package var devices: [DeviceID]
        package var outcome: Outcome
        /// Time at which the zone's day ends.
        package var midnight: UnixTime

        package init(name: String, day: String, devices: [DeviceID], outcome: Outcome, midnight: UnixTime) {
            self.name = name
            self.day = day
            self.devices = devices
            self.outcome = outcome
            self.midnight = midnight
        }
    }

    package struct Reply: Sendable, Equatable {
        /// `true` if another run has begun since. Nothing was written.
        package var isLate = false
        package var changed = 0
        package var unchanged = 0
        package var ended = 0
        package var failure: RefreshFailure?
        package var dueAt: UnixTime?
    }

    /// Minimum time from an answer until its provider is asked again.
    static let leastPause = Duration.seconds(1)

    package let type: ActivityType
    package let run: RefreshRun
    package let zones: [Zone]
    package let now: UnixTime
    package let dice: Double

    package init(type: ActivityType, run: RefreshRun, zones: [Zone], now: UnixTime, dice: Double) {
        self.type = type
        self.run = run
        self.zones = zones
        self.now = now
        self.dice = dice
    }

    package var rank: CommandRank { .write }
    package static var mayBeRefused: Bool { false }
    package var weight: Int { 1 + zones.reduce(0) { $0 + 2 * $1.devices.count } }

    package var keys: [SnapshotKey] {
        let ids = zones.flatMap(\.devices).map { ProvidedActivity.id(type: type.name, user: run.user, device: $0) }
        return [
            .users(run.app, [run.user], nil), .refreshes(run.app, [run.user], [type.name]),
            .memos(run.app, run.user, type.name),
        ]
            + ids.flatMap { id -> [SnapshotKey] in
                [
                    .activity(run.app, id), .members(run.app, id), .users(run.app, [run.user], id),
                    .audience(run.app, id, []),
                ]
            }
    }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var reply = Reply()
        guard let user = draft.snapshot.users[.init(run.app, run.user)],
            var record = draft.snapshot.refreshes[RefreshKey(user, type.name)], record.fence == run.fence,
            record.node != nil
        else {
            reply.isLate = true
            return reply
        }
        for zone in zones { take(zone, of: user, &reply, &draft) }
        forget(of: user, &draft)
        record.node = nil
        record.finishedAt = now
        record.failure = reply.failure.map { "\($0.code.rawValue): \($0.detail)" }
        if reply.failure != nil {
            record.tries += 1
            record.dueAt = now + RetryDelay.token(tries: record.tries, dice: dice)
        } else {
            record.tries = 0
            record.done = run.asked
            record.dueAt = record.asked > record.done ? now : nextTime()
        }
        draft.put(record)
        reply.dueAt = record.dueAt
        return reply
    }

    /// Returns the earliest of the zones' midnights and the times that the provider asked for.
    private func nextTime() -> UnixTime? {
        zones.flatMap { zone in
            if case .show(let answer) = zone.outcome, let again = answer.askAgainAt {
                return [zone.midnight, max(again, now + Self.leastPause)]
            }
            return [zone.midnight]
        }.min()
    }

    /// Removes the memos of zones without a device, once their day is over. Until then they are kept for people who
    /// travel.
    private func forget(of user: UserNumber, _ draft: inout Draft) {
        let names = Set(zones.map(\.name))
        guard let today = zones.map(\.day).min() else { return }
        for (key, memo) in draft.snapshot.memos
        where key.user == user && key.type == type.name && !names.contains(key.zone) && memo.day < today {
            draft.removeMemo(key)
        }
    }

    private func take(_ zone: Zone, of user: UserNumber, _ reply: inout Reply, _ draft: inout Draft) {
        let key = MemoKey(user, type.name, zone.name)
        let lastDay = draft.snapshot.memos[key]?.day
        switch zone.outcome {
        case .failed(let failure): reply.failure = failure
        case .nothing:
            for device in devices(of: zone, user, draft) { end(device, &reply, &draft) }
            draft.removeMemo(key)
        case .show(let answer):
            let memo = answer.memo?.bytes
            guard memo.map({ $0.count <= RefreshAnswer.maximumMemoBytes }) ?? true else {
                reply.failure = RefreshFailure(
                    .rejected, "the memo has more than \(RefreshAnswer.maximumMemoBytes) bytes")
                return
            }
            for device in devices(of: zone, user, draft) {
                if let lastDay, lastDay != zone.day { closeIfOver(device, &draft) }
                show(answer, on: device, &reply, &draft)
            }
            draft.put(MemoRecord(user: user, type: type.name, zone: zone.name, day: zone.day, memo: memo))
        }
    }

    /// Returns the devices that still belong to the person and the zone. A device that has moved has asked for a
    /// computation itself.
    private func devices(of zone: Zone, _ user: UserNumber, _ draft: Draft) -> [DeviceRecord] {
        zone.devices.compactMap { draft.device(run.app, $0) }.filter { device in
            device.user == user && device.signedOutAt == nil
                && device.timeZone ?? Refreshes.defaultZone == zone.name
        }
    }

    // MARK: - One device

    private func id(_ device: DeviceRecord) -> ActivityID {
        ProvidedActivity.id(type: type.name, user: run.user, device: device.id)
    }

    private func show(_ answer: RefreshAnswer, on device: DeviceRecord, _ reply: inout Reply, _ draft: inout Draft) {
        var body = SetDesiredState.Body(state: answer.state)
        body.attributes = answer.attributes
        body.users = [run.user]
        body.devices = .one(device.id)
        body.alert = answer.alert
        body.priority = answer.priority
        body.relevance = answer.relevance
        body.staleAt = answer.staleAt
        body.reopen = true
        let id = id(device)
        let announced = announcedDigest(id, draft)
        var result = draft.step(SetDesiredState(app: run.app, id: id, type: type, body: body, now: now))
        if case .failure(.attributesDiffer) = result {
            // Attributes belong to the running card. Other attributes take effect with the next card.
            body.attributes = nil
            result = draft.step(SetDesiredState(app: run.app, id: id, type: type, body: body, now: now))
        }
        switch result {
        case .success(let set):
            if set.changed { reply.changed += 1 } else { reply.unchanged += 1 }
            if let announced, announced == ContentDigest.of(answer.state) {
                adopt(.init(set.number, device.key), set.revision, &draft)
            }
        case .failure(let refusal):
            reply.failure = RefreshFailure(.rejected, "the answer cannot be shown: \(refusal.word)")
        }
    }

    /// Returns the digest of the state of a card that the app started before anything was computed.
    private func announcedDigest(_ id: ActivityID, _ draft: Draft) -> UInt64? {
        guard let activity = draft.activity(run.app, id), activity.phase == .announced else { return nil }
        return draft.snapshot.contents[activity.number]?.digest
    }

    /// Marks the card as up to date. App and server show the same state, so nothing has to be sent.
    private func adopt(_ phone: Snapshot.PhoneKey, _ revision: Revision, _ draft: inout Draft) {
        guard var card = draft.snapshot.cards[phone], card.state == .live else { return }
        card.confirm(revision)
        draft.put(card)
        Lanes.review(phone, type, now: now, &draft)
    }

    /// Settings of the app, as far as an end needs them.
    private var settings: AppSettings { AppSettings(bundleID: run.app, types: [type], environments: []) }

    private func end(_ device: DeviceRecord, _ reply: inout Reply, _ draft: inout Draft) {
        let id = id(device)
        guard let activity = draft.activity(run.app, id) else { return }
        if activity.phase == .announced {
            // The app shows a card that is not due. It can be ended only if its content is known.
            guard let content = draft.snapshot.contents[activity.number], content.digest != 0,
                let state = try? JSONValue(parsing: content.state.bytes).object
            else { return }
            var answer = RefreshAnswer(state: state)
            answer.priority = .low
            show(answer, on: device, &reply, &draft)
        }
        let result = draft.step(
            EndActivity(app: settings, id: id, state: nil, alert: nil, dismissal: .immediate, now: now))
        switch result {
        case .success(let done): if done.changed { reply.ended += 1 } else { reply.unchanged += 1 }
        case .failure(let refusal):
            reply.failure = RefreshFailure(.rejected, "the card cannot be ended: \(refusal.word)")
        }
    }

    /// Ends an activity from an earlier day if its card is over, so that a new day begins a new run. A card that was
    /// dismissed yesterday does not count as dismissed today.
    private func closeIfOver(_ device: DeviceRecord, _ draft: inout Draft) {
        let id = id(device)
        guard let activity = draft.activity(run.app, id), activity.phase == .active,
            let card = draft.snapshot.cards[.init(activity.number, device.key)], card.state.isTombstone
        else { return }
        _ = draft.step(EndActivity(app: settings, id: id, state: nil, alert: nil, dismissal: .immediate, now: now))
    }
}

extension Refusal {
    /// Description without anything from a payload.
    fileprivate var word: String {
        switch self {
        case .payloadTooLarge(let error, _): "\(error)"
        case .contractViolation(let violation):
            "it does not fit the contract: "
                + violation.problems.prefix(3).map { "\($0.pointer): \($0.expected) expected" }.joined(separator: "; ")
        case .activityIDConflict(let pointer): "\(pointer) names another activity"
        case .typeDiffers(_, let type): "its activity is of the type \(type)"
        case .audienceTooLarge, .attributesDiffer, .unknownActivity, .unknownDevice, .deviceTaken, .tooManyAwaiting,
            .tooManyCards, .tooManyDevices, .tooManyTokens, .deviceChangesHands, .activityEnded, .notAnActivityYet,
            .deadToken, .activityNotNamed, .unknownType, .revisionDiffers, .idempotencyKeyReused, .sessionReplaced,
            .sessionClosed:
            "it conflicts with what is stored"
        }
    }
}
