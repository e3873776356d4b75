import APNSModel

extension ClaimWork {
    /// What was about to go is decided again as of the claim: the reconciler is deterministic.
    private func wasBehind(
        _ phone: PhoneSituation, _ activity: ActivityRecord, _ flight: FlightRecord, _ draft: Draft
    ) -> Bool {
        guard flight.devices == nil else { return true }
        guard let type = apps[activity.app]?.types[activity.type],
            let content = draft.snapshot.contents[activity.number],
            case .send = Reconciler.decide(DesiredSituation(activity, type, content), phone, now: flight.claimedAt)
        else { return false }
        return true
    }

    /// What a lost process had claimed may have arrived: timestamps are consumed, alerts spent, starts unconfirmed.
    func rescue(_ activity: ActivityRecord, _ old: LaneRecord, _ draft: inout Draft) {
        guard let flight = old.flight else { return }
        var entries: [HistoryEntry] = []
        for device in draft.snapshot.pages[old.key]?.devices ?? [] {
            let key = Snapshot.PhoneKey(activity.number, device)
            guard let phone = draft.phone(key, type: activity.type), var card = draft.snapshot.cards[key] else {
                continue
            }
            // Reports may have changed the phone since the claim, so that deciding again does not tell who was in the
            // flight. Whoever may have been loses what must not come twice: a timestamp, and an alert. That holds for
            // a phone of an earlier run as well: the activity may have been reopened since, and it keeps its timestamp.
            guard card.state.mayHaveCard || card.state.isTombstone else { continue }
            let isLost =
                card.state == .starting
                || card.run == activity.run && wasBehind(phone, activity, flight, draft)
            let timestamp = card.loseFlight(claimedAt: flight.claimedAt)
            // No push of this run's alert goes to a phone that stands in an earlier one.
            if let alert = activity.alert, alert.onUnknown == .drop, alert.revision <= flight.revision,
                card.run == activity.run, card.alerts.given < alert.revision
            {
                card.loseAlert(alert.revision, of: timestamp)
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
        }
        if !entries.isEmpty {
            draft.record(
                HistoryRecord(activity: activity.number, at: now, revision: flight.revision, entries: entries))
        }
    }
}
