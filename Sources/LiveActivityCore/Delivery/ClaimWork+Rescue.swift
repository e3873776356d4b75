import APNSModel

extension ClaimWork {
    /// Returns whether the phone was behind at the time of the claim. The reconciler is deterministic, so it can decide
    /// again.
    private func wasBehind(
        _ phone: PhoneSituation, _ activity: ActivityRecord, _ flight: FlightRecord, _ draft: Draft
    ) -> Bool {
        guard flight.devices == nil else { return true }
        guard let type = apps[activity.app]?.types[activity.type],
            let content = draft.snapshot.contents[activity.number],
            case .send = Reconciler.decide(
                DesiredSituation(activity, type, content, draft), phone, now: flight.claimedAt)
        else { return false }
        return true
    }

    /// Returns the alert that the flight's start of a card on a channel may have brought, and that a notification would
    /// repeat; `nil` if there is none.
    private func alertOfStart(
        of card: CardMachine, in flight: FlightRecord, _ activity: ActivityRecord
    ) -> Revision? {
        guard let alert = activity.alert, alert.onChannels == .notification, alert.onUnknown == .drop,
            alert.revision <= flight.revision, card.run == activity.run, card.alerts.given < alert.revision,
            let window = apps[activity.app]?.types[activity.type]?.policy.startWindow,
            let expiresAt = card.startExpiresAt
        else { return nil }
        return expiresAt >= flight.claimedAt + window ? alert.revision : nil
    }

    /// Closes the flight of a lost process, whose pushes may have arrived.
    ///
    /// Their timestamps count as used, their alerts as given, and their starts as unconfirmed.
    func rescue(_ activity: ActivityRecord, _ old: LaneRecord, _ draft: inout Draft) {
        guard let flight = old.flight else { return }
        var entries: [HistoryEntry] = []
        var hasStartOnChannel = false
        for device in draft.snapshot.pages[old.key]?.devices ?? [] {
            let key = Snapshot.PhoneKey(activity.number, device)
            guard let phone = draft.phone(key, type: activity.type), var card = draft.snapshot.cards[key] else {
                continue
            }
            // Reports may have changed the phone since the claim, so deciding again does not show which phones were in
            // the flight. Every phone that may have been in it loses the timestamp and the alert, which must not be
            // sent twice. This includes a phone of an earlier run: the activity may have been reopened since, and the
            // phone's timestamp carries over to the next run.
            guard card.state.mayHaveCard || card.state.isTombstone else { continue }
            // A flight has no push to a card on a channel but its start, which may have brought the alert.
            guard card.subscription == nil || card.state == .starting else {
                if let alert = alertOfStart(of: card, in: flight, activity) {
                    card.tell(alert)
                    draft.put(card)
                }
                continue
            }
            let isLost =
                card.state == .starting
                || card.run == activity.run && wasBehind(phone, activity, flight, draft)
            let timestamp = card.loseFlight(claimedAt: flight.claimedAt)
            // A phone that is in an earlier run was sent no alert of this run.
            if let alert = activity.alert, alert.onUnknown == .drop, alert.revision <= flight.revision,
                card.run == activity.run, card.alerts.given < alert.revision
            {
                card.loseAlert(alert.revision, of: timestamp)
            }
            // The lap that follows passes over a phone on a channel.
            if card.subscription != nil {
                card.lookAt = now
                hasStartOnChannel = true
            }
            draft.put(card)
            guard isLost else { continue }
            entries.append(
                HistoryEntry(
                    .rescued, device: device, at: now, revision: flight.revision, timestamp: timestamp,
                    outcome: Reason(.rescued)))
        }
        draft.change(old.key) { lane in
            lane.fence += 1
            lane.flight = nil
            lane.goAround(from: flight.fromDevice)
            lane.nextAt = now
            if hasStartOnChannel { lane.look(at: now) }
        }
        if !entries.isEmpty {
            draft.record(
                HistoryRecord(activity: activity.number, at: now, revision: flight.revision, entries: entries))
        }
    }
}
