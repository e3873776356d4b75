import APNSModel
import IsletBasics

extension ClaimWork {
    /// Stores ordinary notifications in place of cards that cannot be shown, and of alerts that no broadcast brings.
    ///
    /// The commit that finds this out also stores the notification. So each phone gets it once for each state, even if
    /// the process crashes afterwards.
    func fallBack(
        _ phones: [(phone: PhoneSituation, reason: Reason)], _ desired: DesiredSituation, _ content: ContentRecord,
        seed: UInt64, _ draft: inout Draft
    ) {
        guard !phones.isEmpty else { return }
        // Uses other parts of the random sequence than the push ids of the flight do.
        let number = seed &* SplitMix64.stride
        notify(
            phones.filter { $0.reason.code != .alertByNotification }, desired, number: number,
            Message(revision: desired.activity.revision, expiresAt: Fallback.expiration(desired, now: now)), &draft
        ) { () throws(PayloadError) in try Fallback.payload(desired, content) }
        guard let alert = desired.activity.alert else { return }
        notify(
            phones.filter { $0.reason.code == .alertByNotification }, desired, number: number &+ 1,
            Message(revision: alert.revision, expiresAt: alert.expiresAt, isAlertAlone: true), &draft
        ) { () throws(PayloadError) in try Fallback.alertPayload(alert, desired) }
    }

    /// Revision and lifetime of a notification.
    private struct Message {
        /// Revision of the state that it says, or of the alert that it brings alone.
        let revision: Revision
        /// Time until which it is worth showing.
        let expiresAt: UnixTime
        var isAlertAlone = false
    }

    private func notify(
        _ phones: [(phone: PhoneSituation, reason: Reason)], _ desired: DesiredSituation, number: UInt64,
        _ message: Message, _ draft: inout Draft, _ payload: () throws(PayloadError) -> AlertPayload?
    ) {
        guard !phones.isEmpty else { return }
        let activity = desired.activity
        var entries: [HistoryEntry] = []
        for (phone, reason) in phones {
            var card = phone.card
            if card.run != activity.run { beginRun(of: activity, &card, &draft) }
            if message.isAlertAlone { card.tell(message.revision) } else { card.fallBack(message.revision) }
            draft.put(card)
            entries.append(
                HistoryEntry(
                    .fallback, device: phone.device.key, at: now, revision: activity.revision, carriesAlert: true,
                    reason: reason))
        }
        do throws(PayloadError) {
            guard let payload = try payload() else { return }
            for (phone, reason) in phones {
                draft.tell(
                    EventRecord(
                        .fellBack, activity, run: activity.run, on: phone.device.key, revision: activity.revision,
                        reason.code, at: now))
            }
            draft.notify(
                phones.map(\.phone.device),
                NotificationRecord(
                    number: NotificationRecord.number(random: number), app: activity.app,
                    kind: .alert, payload: payload.bytes, collapseID: PushBuilder.collapseID(of: activity.id),
                    expiresAt: message.expiresAt,
                    fallback: .init(activity: activity.number, run: activity.run, revision: message.revision), at: now)
            )
        } catch {
            for index in entries.indices {
                entries[index].outcome = Reason(.payloadRefused, error.description)
            }
        }
        draft.record(
            HistoryRecord(activity: activity.number, at: now, revision: activity.revision, entries: entries))
    }

    /// Moves a phone to the activity's current run. The card of the earlier run is over.
    func beginRun(of activity: ActivityRecord, _ card: inout CardMachine, _ draft: inout Draft) {
        draft.bury(card, as: .ended, at: now)
        draft.removeUpdateToken(.init(activity.number, card.device), at: now)
        card.beginRun(activity.run, at: now)
    }
}

extension ClaimWork.Found {
    /// Adds a phone that gets a notification. A card that is there may wait for something besides its alert.
    mutating func fallBack(
        _ phone: PhoneSituation, _ reason: Reason, _ desired: DesiredSituation, at now: UnixTime
    ) {
        var phone = phone
        phone.card.lookAt = nil
        if reason.code == .alertByNotification, let alert = desired.activity.alert {
            var told = phone
            told.card.tell(alert.revision)
            if case .wait(let until, _) = Reconciler.decide(desired, told, now: now) {
                phone.card.lookAt = until
                waitsUntil = min(waitsUntil ?? until, until)
            }
        }
        fallenBack.append((phone, reason))
    }
}
