import APNSModel
import LiveActivityCore

/// The hottest row: read twice and written once for each push. What no statement asks for is packed into one column,
/// since each column costs SQLite about as much as the number in it costs us.
extension InstanceRecord: StoredRow {
    static let table = "instance"
    static let columns = [
        "activity", "dk", "run", "state", "alerted_rev", "due_at", "look_at", "local_id", "started_at",
        "start_expires_at", "body",
    ]
    static let keyColumns = ["activity", "dk"]
    static let placeColumns: Set<String> = ["state", "local_id"]

    init(_ row: inout RowReader) throws {
        self.init(activity: row.int(), device: row.int(), run: Int(row.int()), at: UnixTime(milliseconds: 0))
        state = try decodeCase(row.int(), Self.table, "state")
        alertedRevision = row.int()
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
    }

    func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(device)
        row.int(Int64(run))
        row.int(Int64(state.rawValue))
        row.int(alertedRevision)
        row.time(dueAt)
        row.time(lookAt)
        row.text(localID?.text)
        row.time(startedAt)
        row.time(startExpiresAt)
        row.blob(packed)
    }

    // MARK: - The packed column

    private static let wantedFlag: UInt64 = 1, mayStartFlag: UInt64 = 2, lastFlag: UInt64 = 4, reasonFlag: UInt64 = 8
    /// Some of the numbers that are nearly always zero are not.
    private static let rareFlag: UInt64 = 16, highFlag: UInt64 = 32
    private static let stateBeforeShift: UInt64 = 6, stateBeforeMask: UInt64 = 15
    private static let localAheadFlag: UInt64 = 1 << 10, renewingFlag: UInt64 = 1 << 11, evictedFlag: UInt64 = 1 << 12
    private static let fallenBackFlag: UInt64 = 1 << 13, awaitsFlag: UInt64 = 1 << 14
    private static let sequenceFlag: UInt64 = 1 << 15, reportedFlag: UInt64 = 1 << 16
    private static let awaitedFlag: UInt64 = 1 << 17, awaitedAlertFlag: UInt64 = 1 << 18
    private static let formatShift: UInt64 = 19
    /// Nearly always the reason, and not worth its bytes in every row.
    private static let accepted = Reason(.accepted)

    /// Instants are kept as distances from the last push: most of them then take two bytes.
    private var packed: [UInt8] {
        var writer = PackedWriter(reserving: 48)
        let isRare = shownRevision != 0 || tries != 0 || parkedRevision != 0 || contradictions != 0
        let reason = last.flatMap { $0.reason == Self.accepted ? nil : $0.reason }
        var flags = UInt64(stateBeforeRequest.rawValue) << Self.stateBeforeShift
        flags |= PackedFormat.instance << Self.formatShift
        if isWanted { flags |= Self.wantedFlag }
        if mayStart { flags |= Self.mayStartFlag }
        if last != nil { flags |= Self.lastFlag }
        if reason != nil { flags |= Self.reasonFlag }
        if isRare { flags |= Self.rareFlag }
        if lastHighAt != nil { flags |= Self.highFlag }
        if hasFallenBack { flags |= Self.fallenBackFlag }
        if isLocalAhead { flags |= Self.localAheadFlag }
        if isRenewing { flags |= Self.renewingFlag }
        if isEvicted { flags |= Self.evictedFlag }
        if awaitsUntil != nil { flags |= Self.awaitsFlag }
        if reportSequence != 0 { flags |= Self.sequenceFlag }
        if reportedAt != nil { flags |= Self.reportedFlag }
        if awaitedUntil != nil { flags |= Self.awaitedFlag }
        if awaitedAlert != nil { flags |= Self.awaitedAlertFlag }
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
        return writer.bytes
    }

    /// `false` where it is not what `packed` makes.
    ///
    /// - Throws: `DamagedRow` for one of a later format.
    private mutating func unpack(_ reader: inout PackedReader) throws -> Bool {
        guard let flags = reader.unsigned() else { return false }
        let format = flags >> Self.formatShift
        guard format <= PackedFormat.instance else {
            throw DamagedRow(table: Self.table, column: "body", newerFormat: format)
        }
        guard let state = State(rawValue: Int(flags >> Self.stateBeforeShift & Self.stateBeforeMask)),
            let sent = reader.signed(), let time = reader.signed(), let generation = reader.signed(),
            let created = reader.signed()
        else { return false }
        isWanted = flags & Self.wantedFlag != 0
        mayStart = flags & Self.mayStartFlag != 0
        hasFallenBack = flags & Self.fallenBackFlag != 0
        stateBeforeRequest = state
        isLocalAhead = flags & Self.localAheadFlag != 0
        isRenewing = flags & Self.renewingFlag != 0
        isEvicted = flags & Self.evictedFlag != 0
        sentRevision = sent
        timestamp = time
        tokenGeneration = generation
        createdAt = UnixTime(milliseconds: created &+ time &* 1000)
        if flags & Self.highFlag != 0 {
            guard let high = reader.signed() else { return false }
            lastHighAt = UnixTime(milliseconds: high &+ time &* 1000)
        }
        if flags & Self.awaitsFlag != 0 {
            guard let awaits = reader.signed() else { return false }
            awaitsUntil = UnixTime(milliseconds: awaits &+ time &* 1000)
        }
        if flags & Self.sequenceFlag != 0 {
            guard let sequence = reader.signed() else { return false }
            reportSequence = sequence
        }
        if flags & Self.reportedFlag != 0 {
            guard let reported = reader.signed() else { return false }
            reportedAt = UnixTime(milliseconds: reported &+ time &* 1000)
        }
        if flags & Self.awaitedFlag != 0 {
            guard let awaited = reader.signed() else { return false }
            awaitedUntil = UnixTime(milliseconds: awaited &+ time &* 1000)
        }
        if flags & Self.awaitedAlertFlag != 0 {
            guard let alert = reader.signed() else { return false }
            awaitedAlert = alert &+ time
        }
        if flags & Self.rareFlag != 0 {
            guard let shown = reader.signed(), let tries = reader.signed(), let parked = reader.signed(),
                let contradictions = reader.signed()
            else { return false }
            shownRevision = shown
            self.tries = Int(truncatingIfNeeded: tries)
            parkedRevision = parked
            self.contradictions = Int(truncatingIfNeeded: contradictions)
        }
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
            kind: kind, at: UnixTime(milliseconds: at &+ time &* 1000), revision: revision &+ sent,
            status: Int(truncatingIfNeeded: status), reason: reason)
        return true
    }
}
