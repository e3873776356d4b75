import APNSModel
import IsletBasics

extension ClaimWork {
    /// Stores an ordinary notification in place of a card that cannot be shown.
    ///
    /// The commit that finds this out also stores the notification. So each phone gets it once for each state, even if
    /// the process crashes afterwards.
    func fallBack(
        _ phones: [(phone: PhoneSituation, reason: Reason)], _ desired: DesiredSituation, _ content: ContentRecord,
        seed: UInt64, _ draft: inout Draft
    ) {
        guard !phones.isEmpty else { return }
        let activity = desired.activity
        var entries: [HistoryEntry] = []
        for (phone, reason) in phones {
            var card = phone.card
            if card.run != activity.run { beginRun(of: activity, &card, &draft) }
            card.fallBack(activity.revision)
            card.lookAt = nil
            draft.put(card)
            entries.append(
                HistoryEntry(
                    .fallback, device: phone.device.key, at: now, revision: activity.revision, carriesAlert: true,
                    reason: reason))
        }
        do throws(PayloadError) {
            guard let payload = try Fallback.payload(desired, content) else { return }
            for (phone, reason) in phones {
                draft.tell(
                    EventRecord(
                        .fellBack, activity, run: activity.run, on: phone.device.key, revision: activity.revision,
                        reason.code, at: now))
            }
            draft.notify(
                phones.map(\.phone.device),
                NotificationRecord(
                    // Uses another part of the random sequence than the push ids of the flight do.
                    number: NotificationRecord.number(random: seed &* SplitMix64.stride), app: activity.app,
                    kind: .alert, payload: payload.bytes, collapseID: PushBuilder.collapseID(of: activity.id),
                    expiresAt: Fallback.expiration(desired, now: now),
                    fallback: .init(activity: activity.number, run: activity.run, revision: activity.revision), at: now)
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
