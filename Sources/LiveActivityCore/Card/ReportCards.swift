package import APNSModel

/// Takes a phone's report of one card.
package struct ReportCard: Command {
    package let app: AppSettings
    package let device: DeviceID
    package let report: CardReport
    package let now: UnixTime
    package var reporter = Reporter.backend

    package init(app: AppSettings, device: DeviceID, report: CardReport, now: UnixTime) {
        self.app = app
        self.device = device
        self.report = report
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { CardKeys.of([report], app: app.bundleID, device: device, reporter) }

    package func decide(_ draft: inout Draft) throws(Refusal) -> DeviceKey {
        var record = try reporter.device(app.bundleID, device, now: now, in: draft)
        record.contactAt = now
        record.reportSequence = max(record.reportSequence, report.sequence ?? 0)
        draft.put(record)
        try CardIntake(app: app, device: record, reporter: reporter, now: now).takeCounting(report, &draft)
        draft.forgetOldTombstones(of: record.key)
        return record.key
    }
}

/// Takes a phone's inventory: a report of all its cards. A card that it does not list is no longer there.
package struct ReportInventory: Command {
    /// Result of an inventory.
    package struct Reply: Sendable, Equatable, IdempotentReply {
        package var device: DeviceKey
        /// Greatest report number known of the device, if this inventory's number is not greater than the last
        /// inventory's. Nothing was changed then. `nil` if the inventory was accepted.
        package var supersededBy: Int64?
    }

    /// Longest time an inventory is assumed to take to arrive. A later one may lack cards that have appeared since.
    package static let travel = Duration.seconds(180)

    package let app: AppSettings
    package let device: DeviceID
    package let sequence: Int64
    package let reports: [CardReport]
    package let now: UnixTime
    package var reporter = Reporter.backend

    package init(app: AppSettings, device: DeviceID, sequence: Int64, reports: [CardReport], now: UnixTime) {
        self.app = app
        self.device = device
        self.sequence = sequence
        self.reports = reports
        self.now = now
    }

    package var rank: CommandRank { .write }
    package var weight: Int { 1 + reports.count }
    package var keys: [SnapshotKey] { CardKeys.of(reports, app: app.bundleID, device: device, reporter) }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var record = try reporter.device(app.bundleID, device, now: now, in: draft)
        guard sequence > record.inventorySequence else {
            return Reply(device: record.key, supersededBy: max(record.inventorySequence, record.reportSequence))
        }
        record.inventorySequence = sequence
        record.reportSequence = max(record.reportSequence, sequence)
        record.contactAt = now
        draft.put(record)
        let listed = Set(reports.map(\.localID))
        let intake = CardIntake(
            app: app, device: record, reporter: reporter, now: now, isInventory: true,
            running: Set(reports.filter(\.state.isRunning).map(\.localID)))
        // Cards with a tombstone come last, when all other cards of the phone are known.
        let known = draft.snapshot.tombstones
        let ordered =
            reports.filter { known[.init(record.key, $0.localID)] == nil }
            + reports.filter { known[.init(record.key, $0.localID)] != nil }
        for var report in ordered {
            report.sequence = sequence
            // A refused report leaves no trace and does not affect the other reports.
            _ = draft.step { (draft) throws(Refusal) in try intake.takeCounting(report, &draft) }
        }
        for key in draft.phones(on: record.key) {
            settleAbsence(key, listed, &draft)
        }
        draft.forgetOldTombstones(of: record.key)
        return Reply(device: record.key)
    }

    /// Returns `true` if the phone made this inventory after the newest report that showed the card.
    ///
    /// Without report numbers, only time can tell. It has to, if another card would be started in this one's place.
    /// Otherwise the inventory is believed, and the next one that shows the card takes it back.
    private func isNewer(than card: CardLife.Card, of activity: ActivityRecord) -> Bool {
        if card.reportSequence > 0 { return sequence > card.reportSequence }
        guard activity.restart != .never, let reportedAt = card.reportedAt else { return true }
        return reportedAt + Self.travel <= now
    }

    /// Returns `true` if the inventory is newer than the card's reports and does not list the card's local id.
    private func lacks(_ card: CardLife.Card, _ listed: Set<LocalID>, _ activity: ActivityRecord) -> Bool {
        guard let localID = card.localID, !listed.contains(localID) else { return false }
        return isNewer(than: card, of: activity)
    }

    /// Applies the inventory to a row whose card it may lack.
    private func settleAbsence(_ key: Snapshot.PhoneKey, _ listed: Set<LocalID>, _ draft: inout Draft) {
        guard let old = draft.snapshot.cards[key], let activity = draft.snapshot.activities[key.activity]
        else { return }
        var card = old
        switch card.state {
        case .live, .ending:
            card.lose()
            // A card without a local id stayed in place of a duplicate and has not been reported since.
            if let known = old.life.card, known.localID != nil {
                guard lacks(known, listed, activity) else { return }
            }
            draft.bury(card, as: card.state, at: now)
            draft.dropUpdateToken(of: card, at: now)
        case .starting, .unconfirmed:
            // Only an inventory made after the start's expiration proves that the start failed. The server knows only
            // when the inventory arrived, so it allows for the way.
            guard let start = card.life.openStart, start.expiresAt + Self.travel < now else { return }
            card.missStart()
            draft.count(.startAbsent(activity.app, type: activity.type))
            if var token = draft.snapshot.deviceTokens[.init(key.device, .pushToStart, activity.type)] {
                token.missedStarts += 1
                draft.put(token)
                if token.missedStarts == DeviceTokenRecord.suspectAfter, let device = draft.snapshot.devices[key.device]
                {
                    draft.askForTokens(device, suspect: token, at: now)
                }
            }
        case .gone, .requesting:
            // The inventory confirms what an inactive token had made likely. A request of the app stays valid for its
            // lease, whether or not the inventory lists the requested card.
            guard let gone = card.goneByTokenAlone, lacks(gone, listed, activity) else { return }
            card.confirmOver()
        case .absent, .dismissed: return
        case .ended:
            // The same applies to a card that was being ended: no later report brings it back.
            guard card.last?.reason.code == .tokenInactive, let known = card.life.card,
                lacks(known, listed, activity)
            else { return }
            card.confirmOver()
            draft.put(card)
            return
        }
        draft.put(card)
        draft.record(
            HistoryEntry(
                .reported, device: key.device, at: now, revision: card.heldRevision,
                detail: "not in the inventory"),
            of: activity)
        CardEvents(activity: activity, now: now).reported(old, card, .notListed, &draft)
        Lanes.review(key, app.types[activity.type], now: now, &draft)
    }
}

/// The rows that reports of cards need.
enum CardKeys {
    static func of(
        _ reports: [CardReport], app: BundleID, device: DeviceID, _ reporter: Reporter
    ) -> [SnapshotKey] {
        let named = Set(reports.compactMap(\.namedActivity)).sorted()
        // If a person reports, the decision depends on whether they belong to the audience.
        let audiences = reporter.user.map { user in named.map { SnapshotKey.audience(app, $0, [user]) } } ?? []
        let rows = DeviceRows(cards: reports.map(\.localID), activities: named, withRunning: false)
        return [.device(app, device, rows)] + named.map { .activity(app, $0) } + audiences
            + [.owners(app, reports.compactMap { $0.token.map { TokenValue($0) } })]
            + provided(reports, app: app, device: device)
    }

    /// Returns the keys of provider-driven activities on this device. A card that names no activity may belong to one.
    private static func provided(_ reports: [CardReport], app: BundleID, device: DeviceID) -> [SnapshotKey] {
        let types = Set(reports.map(\.type).filter(\.isProvided).map(\.name)).sorted()
        return types.isEmpty ? [] : [.provided(app, device, owners: [], types: types)]
    }
}
