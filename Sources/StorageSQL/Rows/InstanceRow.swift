import APNSModel
import LiveActivityCore

/// The most frequent row: read twice and written once for each push.
///
/// Values that no statement uses are packed into one column. For SQLite, each column costs about as much as the
/// handling of its number here.
extension CardMachine: StoredRow {
    static let table = "instance"
    static let columns = CardColumns.columns
    static let keyColumns = CardColumns.keyColumns
    static let placeColumns = CardColumns.placeColumns

    init(_ row: inout RowReader) throws { self.init(try CardColumns(&row)) }

    func bind(_ row: inout RowBinder) {
        CardColumns(self).bind(&row)
        // Laps leave out the phones on a channel of the activity's run by this column.
        row.int(subscription == nil ? nil : Int64(run))
    }
}

extension CardColumns {
    static let table = "instance"
    static let columns = [
        "activity", "dk", "run", "state", "alerted_rev", "due_at", "look_at", "local_id", "started_at",
        "start_expires_at", "body", "channel_run",
    ]
    static let keyColumns = ["activity", "dk"]
    static let placeColumns: Set<String> = ["state", "local_id"]

    fileprivate init(_ row: inout RowReader) throws {
        self.init(activity: row.int(), device: row.int(), run: Int(row.int()), at: UnixTime(milliseconds: 0))
        state = try decodeCase(row.int(), Self.table, "state")
        pushedAlert = row.int()
        dueAt = row.timeOrNil()
        lookAt = row.timeOrNil()
        localID = row.textOrNil().map(LocalID.init(stored:))
        startedAt = row.timeOrNil()
        startExpiresAt = row.timeOrNil()
        let isRead = try row.bytes { bytes in
            var reader = PackedReader(bytes)
            return try unpack(&reader) && reader.isAtEnd
        }
        guard isRead else { throw DamagedRow(table: Self.table, column: "body") }
        row.skip(1)
    }

    fileprivate func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(device)
        row.int(Int64(run))
        row.int(Int64(state.rawValue))
        row.int(max(pushedAlert, toldRevision ?? pushedAlert))
        row.time(dueAt)
        row.time(lookAt)
        row.text(localID?.text)
        row.time(startedAt)
        row.time(startExpiresAt)
        row.blob(packed)
    }

    // MARK: - The packed column

    private static let wantedFlag: UInt64 = 1, mayStartFlag: UInt64 = 2, lastFlag: UInt64 = 4, reasonFlag: UInt64 = 8
    /// Set if any of the numbers that are nearly always zero is not zero.
    private static let rareFlag: UInt64 = 16, highFlag: UInt64 = 32
    private static let stateBeforeShift: UInt64 = 6, stateBeforeMask: UInt64 = 15
    private static let localAheadFlag: UInt64 = 1 << 10, renewingFlag: UInt64 = 1 << 11, evictedFlag: UInt64 = 1 << 12
    private static let toldFlag: UInt64 = 1 << 13, awaitsFlag: UInt64 = 1 << 14
    private static let sequenceFlag: UInt64 = 1 << 15, reportedFlag: UInt64 = 1 << 16
    private static let awaitedFlag: UInt64 = 1 << 17, awaitedAlertFlag: UInt64 = 1 << 18
    private static let formatShift: UInt64 = 19, formatMask: UInt64 = 63
    private static let leaseFlag: UInt64 = 1 << 25, predecessorFlag: UInt64 = 1 << 26
    private static let predecessorDueFlag: UInt64 = 1 << 27, successorFlag: UInt64 = 1 << 28
    private static let channelFlag: UInt64 = 1 << 29, opensFlag: UInt64 = 1 << 30
    /// The reason of nearly every last delivery. It is not stored.
    private static let accepted = Reason(.accepted)

    /// The packed column. Instants are stored as distances from the last push, so most of them take two bytes.
    private var packed: [UInt8] {
        var writer = PackedWriter(reserving: 48)
        let isRare = shownRevision != 0 || tries != 0 || parkedRevision != 0 || contradictions != 0
        let reason = last.flatMap { $0.reason == Self.accepted ? nil : $0.reason }
        var flags = UInt64(stateBefore.rawValue) << Self.stateBeforeShift
        flags |= PackedFormat.instance << Self.formatShift
        if isWanted { flags |= Self.wantedFlag }
        if mayStart { flags |= Self.mayStartFlag }
        if last != nil { flags |= Self.lastFlag }
        if reason != nil { flags |= Self.reasonFlag }
        if isRare { flags |= Self.rareFlag }
        if lastHighAt != nil { flags |= Self.highFlag }
        if toldRevision != nil { flags |= Self.toldFlag }
        if isLocalAhead { flags |= Self.localAheadFlag }
        if endsOther { flags |= Self.renewingFlag }
        if isEvicted { flags |= Self.evictedFlag }
        if awaitsUntil != nil { flags |= Self.awaitsFlag }
        if reportSequence != 0 { flags |= Self.sequenceFlag }
        if reportedAt != nil { flags |= Self.reportedFlag }
        if awaitedUntil != nil { flags |= Self.awaitedFlag }
        if awaitedAlert != nil { flags |= Self.awaitedAlertFlag }
        if leaseUntil != nil { flags |= Self.leaseFlag }
        if successorAt != nil { flags |= Self.successorFlag }
        if channel != nil { flags |= Self.channelFlag }
        if opens != 0 { flags |= Self.opensFlag }
        if predecessorTries != 0 { flags |= Self.predecessorFlag }
        if predecessorDueAt != nil { flags |= Self.predecessorDueFlag }
        writer.unsigned(flags)
        writer.signed(sentRevision)
        writer.signed(timestamp)
        writer.signed(tokenGeneration)
        writer.signed(createdAt.milliseconds &- timestamp &* 1000)
        if let lastHighAt { writer.signed(lastHighAt.milliseconds &- timestamp &* 1000) }
        if let awaitsUntil { writer.signed(awaitsUntil.milliseconds &- timestamp &* 1000) }
        if reportSequence != 0 { writer.signed(reportSequence) }
        if let reportedAt { writer.signed(reportedAt.milliseconds &- timestamp &* 1000) }
        if let awaitedUntil { writer.signed(awaitedUntil.milliseconds &- timestamp &* 1000) }
        if let awaitedAlert { writer.signed(awaitedAlert &- timestamp) }
        if let leaseUntil { writer.signed(leaseUntil.milliseconds &- timestamp &* 1000) }
        if let predecessorDueAt { writer.signed(predecessorDueAt.milliseconds &- timestamp &* 1000) }
        if predecessorTries != 0 { writer.signed(Int64(predecessorTries)) }
        if let successorAt {
            writer.signed(successorAt.milliseconds &- timestamp &* 1000)
            writer.signed((successorExpiresAt ?? successorAt).milliseconds &- successorAt.milliseconds)
            writer.signed(successorSequence)
        }
        if let toldRevision {
            writer.signed(toldRevision &- sentRevision)
            writer.signed(pushedAlert &- toldRevision)
        }
        if isRare {
            writer.signed(shownRevision)
            writer.signed(Int64(tries))
            writer.signed(parkedRevision)
            writer.signed(Int64(contradictions))
        }
        if let last {
            writer.unsigned(UInt64(last.kind.rawValue))
            writer.signed(Int64(last.status))
            writer.signed(last.at.milliseconds &- timestamp &* 1000)
            writer.signed(last.revision &- sentRevision)
        }
        if let reason { writer.text(reason.stored) }
        if let channel { writer.text(channel.text) }
        if opens != 0 { writer.signed(Int64(opens)) }
        return writer.bytes
    }

    /// Reads the packed column. Returns `false` if the bytes are not in the form that `packed` writes.
    ///
    /// - Throws: `DamagedRow` if the format is newer.
    private mutating func unpack(_ reader: inout PackedReader) throws -> Bool {
        guard let flags = reader.unsigned() else { return false }
        let format = flags >> Self.formatShift & Self.formatMask
        guard format <= PackedFormat.instance else {
            throw DamagedRow(table: Self.table, column: "body", newerFormat: format)
        }
        guard let state = CardState(rawValue: Int(flags >> Self.stateBeforeShift & Self.stateBeforeMask)),
            let sent = reader.signed(), let time = reader.signed(), let generation = reader.signed(),
            let created = reader.signed()
        else { return false }
        isWanted = flags & Self.wantedFlag != 0
        mayStart = flags & Self.mayStartFlag != 0
        stateBefore = state
        isLocalAhead = flags & Self.localAheadFlag != 0
        endsOther = flags & Self.renewingFlag != 0
        isEvicted = flags & Self.evictedFlag != 0
        sentRevision = sent
        timestamp = time
        tokenGeneration = generation
        createdAt = UnixTime(milliseconds: created &+ time &* 1000)
        guard unpackInstants(flags, &reader), unpackRenewal(flags, &reader), unpackTold(flags, format, &reader),
            unpackRare(flags, &reader)
        else { return false }
        if format == 0 { readAsFormat1() }
        return unpackLast(flags, &reader) && unpackChannelAndOpens(flags, &reader)
    }

    private mutating func unpackInstants(_ flags: UInt64, _ reader: inout PackedReader) -> Bool {
        let time = timestamp
        func read(_ flag: UInt64, _ instant: inout UnixTime?) -> Bool {
            guard flags & flag != 0 else { return true }
            guard let distance = reader.signed() else { return false }
            instant = UnixTime(milliseconds: distance &+ time &* 1000)
            return true
        }
        guard read(Self.highFlag, &lastHighAt), read(Self.awaitsFlag, &awaitsUntil) else { return false }
        if flags & Self.sequenceFlag != 0 {
            guard let sequence = reader.signed() else { return false }
            reportSequence = sequence
        }
        guard read(Self.reportedFlag, &reportedAt), read(Self.awaitedFlag, &awaitedUntil) else { return false }
        if flags & Self.awaitedAlertFlag != 0 {
            guard let alert = reader.signed() else { return false }
            awaitedAlert = alert &+ time
        }
        return read(Self.leaseFlag, &leaseUntil) && read(Self.predecessorDueFlag, &predecessorDueAt)
    }

    private mutating func unpackRenewal(_ flags: UInt64, _ reader: inout PackedReader) -> Bool {
        if flags & Self.predecessorFlag != 0 {
            guard let tries = reader.signed() else { return false }
            predecessorTries = Int(truncatingIfNeeded: tries)
        }
        guard flags & Self.successorFlag != 0 else { return true }
        guard let claimed = reader.signed(), let window = reader.signed(), let sequence = reader.signed() else {
            return false
        }
        let at = UnixTime(milliseconds: claimed &+ timestamp &* 1000)
        successorAt = at
        successorExpiresAt = UnixTime(milliseconds: at.milliseconds &+ window)
        successorSequence = sequence
        return true
    }

    /// Reads the alert revisions.
    ///
    /// Formats 0 and 1 only recorded the last alert that was given, and not which part a notification had told. A
    /// restored backup may count more alerts as given than were pushed or told: see `BackupSafety`.
    private mutating func unpackTold(_ flags: UInt64, _ format: UInt64, _ reader: inout PackedReader) -> Bool {
        guard flags & Self.toldFlag != 0 else { return true }
        let given = pushedAlert
        guard format >= 2 else {
            toldRevision = given
            return true
        }
        guard let told = reader.signed(), let pushed = reader.signed() else { return false }
        toldRevision = told &+ sentRevision
        pushedAlert = told &+ sentRevision < given ? given : pushed &+ told &+ sentRevision
        return true
    }

    private mutating func unpackRare(_ flags: UInt64, _ reader: inout PackedReader) -> Bool {
        guard flags & Self.rareFlag != 0 else { return true }
        guard let shown = reader.signed(), let tries = reader.signed(), let parked = reader.signed(),
            let contradictions = reader.signed()
        else { return false }
        shownRevision = shown
        self.tries = Int(truncatingIfNeeded: tries)
        parkedRevision = parked
        self.contradictions = Int(truncatingIfNeeded: contradictions)
        return true
    }

    private mutating func unpackLast(_ flags: UInt64, _ reader: inout PackedReader) -> Bool {
        guard flags & Self.lastFlag != 0 else { return flags & Self.reasonFlag == 0 }
        guard let kind = reader.unsigned().flatMap({ PushKind(rawValue: Int(truncatingIfNeeded: $0)) }),
            let status = reader.signed(), let at = reader.signed(), let revision = reader.signed()
        else { return false }
        var reason = Self.accepted
        if flags & Self.reasonFlag != 0 {
            guard let stored = reader.text().flatMap(Reason.init(stored:)) else { return false }
            reason = stored
        }
        last = LastDelivery(
            kind: kind, at: UnixTime(milliseconds: at &+ timestamp &* 1000), revision: revision &+ sentRevision,
            status: Int(truncatingIfNeeded: status), reason: reason)
        return true
    }

    /// Reads the channel and the number of opens. Formats 0 to 2 have neither.
    private mutating func unpackChannelAndOpens(_ flags: UInt64, _ reader: inout PackedReader) -> Bool {
        if flags & Self.channelFlag != 0 {
            guard let id = reader.text().flatMap({ ChannelID($0) }) else { return false }
            channel = id
        }
        guard flags & Self.opensFlag != 0 else { return true }
        guard let times = reader.signed() else { return false }
        opens = Int(truncatingIfNeeded: times)
        return true
    }

    /// Converts a row of format 0.
    ///
    /// Format 0 had one instant for everything that a phone waits for. It did not record the state before a refused
    /// start. One flag meant both that a second card was started and that one must be ended.
    private mutating func readAsFormat1() {
        if endsOther, let startedAt, timestamp >= (startedAt + Reconciler.renewalAge).seconds {
            successorAt = startedAt + Reconciler.renewalAge
            successorExpiresAt = startedAt + Reconciler.renewalEnd
        }
        // The value was only meant for requests, but stayed afterwards.
        if state != .requesting { stateBefore = .absent }
        switch state {
        case .requesting: (leaseUntil, dueAt) = (dueAt, nil)
        case .live, .ending:
            guard isLocalAhead, tries == 0 || state == .ending else { return }
            (leaseUntil, dueAt) = (dueAt, state == .ending ? dueAt : nil)
        case .absent, .starting, .unconfirmed, .ended, .dismissed, .gone: return
        }
    }
}
