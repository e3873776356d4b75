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
            guard let phone = draft.phone(key, type: activity.type), var instance = draft.snapshot.instances[key] else {
                continue
            }
            // Reports may have changed the phone since the claim, so that deciding again does not tell who was in the
            // flight. Whoever may have been loses what must not come twice: a timestamp, and an alert. That holds for
            // a phone of an earlier run as well: the activity may have been reopened since, and it keeps its timestamp.
            guard instance.state.mayHaveCard || instance.state.isTombstone else { continue }
            let isLost =
                instance.state == .starting
                || instance.run == activity.run && wasBehind(phone, activity, flight, draft)
            // Of a start it is the row's, unless the clock had been set back: then a push carries what it may.
            var timestamp = min(instance.timestamp, Flight.latestTimestamp(flight.claimedAt))
            if instance.state == .starting {
                instance.state = .unconfirmed
            } else {
                timestamp = Flight.timestamp(after: instance.timestamp, now: flight.claimedAt)
                if timestamp < instance.timestamp { instance.noteLost(flight) }
                instance.timestamp = max(instance.timestamp, timestamp)
            }
            // No push of this run's alert goes to a phone that stands in an earlier one.
            if let alert = activity.alert, alert.onUnknown == .drop, alert.revision <= flight.revision,
                instance.run == activity.run,
                instance.alertedRevision < alert.revision
            {
                instance.alertedRevision = alert.revision
                // The process may be late and not lost, and come to say that APNs never took it.
                instance.awaitedAlert = timestamp
            }
            draft.put(instance)
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

extension InstanceRecord {
    /// Notes the second of a lost push where the card's timestamp is further ahead than the push's: the clock was set
    /// back. The card's timestamp is kept, since the clock may be set right again, and the next push does not share the
    /// second (`Reconciler.inItsOwnSecond`).
    fileprivate mutating func noteLost(_ flight: FlightRecord) {
        if last != nil {
            last?.at = flight.claimedAt
        } else {
            last = LastDelivery(kind: .update, at: flight.claimedAt, revision: 0, status: 0, reason: Reason(.rescued))
        }
    }
}
