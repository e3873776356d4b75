import APNSModel

/// Binary format of a timeline row. Numbers are variable-length integers relative to the entry before. Each text is
/// stored once in a row.
///
/// Most entries of a row differ only in the device. A push id follows from the device and the seed of the flight. So a
/// push takes about ten bytes.
package enum HistoryCoder {
    /// Format version, with which each row begins.
    package static let version: UInt8 = 3
    fileprivate static let carriesAlert: UInt64 = 1, hasDevice: UInt64 = 2, hasID: UInt64 = 4, idFollows: UInt64 = 8
    /// The entry equals the one before, except for device, time and push id.
    fileprivate static let isAlike: UInt64 = 16

    package static func encode(_ entries: [HistoryEntry], seed: UInt64 = 0) -> [UInt8] {
        var writer = PackedWriter(reserving: entries.count * 12)
        var texts: [String: Int] = [:]
        var table: [String] = []
        func index(_ text: String?) -> UInt64 {
            guard let text, !text.isEmpty else { return 0 }
            if let known = texts[text] { return UInt64(known) }
            table.append(text)
            texts[text] = table.count
            return UInt64(table.count)
        }
        var before = HistoryEntry(.stateSet, at: UnixTime(milliseconds: 0), revision: 0)
        for entry in entries {
            let follows = seed != 0 && entry.pushID != nil && entry.pushID == entry.device.map { .of($0, seed: seed) }
            let alike = isAlike(entry, before)
            writer.unsigned(
                (entry.carriesAlert ? carriesAlert : 0) | (entry.device == nil ? 0 : hasDevice)
                    | (entry.pushID == nil ? 0 : hasID) | (follows ? idFollows : 0) | (alike ? isAlike : 0))
            if let device = entry.device { writer.signed(device &- (before.device ?? 0)) }
            writer.signed(entry.at.milliseconds &- before.at.milliseconds)
            if !alike {
                writer.unsigned(UInt64(entry.kind.rawValue))
                writer.signed(entry.revision &- before.revision)
                writer.signed(entry.timestamp &- before.timestamp)
                writer.unsigned(UInt64(entry.priority))
                writer.unsigned(UInt64(entry.status))
                writer.unsigned(index(entry.reason?.stored))
                writer.unsigned(index(entry.outcome?.stored))
                writer.unsigned(index(entry.detail))
            }
            if let id = entry.pushID, !follows { writer.words(id.high, id.low) }
            let device = entry.device ?? before.device
            before = entry
            before.device = device
        }
        var head = PackedWriter(reserving: writer.bytes.count + 64)
        head.unsigned(UInt64(version))
        head.unsigned(seed)
        head.unsigned(UInt64(entries.count))
        head.unsigned(UInt64(table.count))
        for text in table { head.text(text) }
        head.append(writer)
        return head.bytes
    }

    private static func isAlike(_ entry: HistoryEntry, _ before: HistoryEntry) -> Bool {
        entry.kind == before.kind && entry.revision == before.revision && entry.timestamp == before.timestamp
            && entry.priority == before.priority && entry.status == before.status && entry.reason == before.reason
            && entry.outcome == before.outcome && entry.detail == before.detail
    }

    /// Decodes a row. Returns `nil` for bytes that this version did not write. The reader reports a damaged row and
    /// never guesses its content.
    package static func decode(_ bytes: [UInt8]) -> (entries: [HistoryEntry], seed: UInt64)? {
        bytes.withUnsafeBytes { decode(PackedReader($0), count: bytes.count) }
    }

    /// Returns the format version of a row if it is newer than this version; otherwise `nil`.
    package static func newerFormat(of bytes: [UInt8]) -> UInt64? {
        bytes.withUnsafeBytes { bytes in
            var reader = PackedReader(bytes)
            return reader.unsigned().flatMap { $0 > UInt64(version) ? $0 : nil }
        }
    }

    private static func decode(_ bytes: PackedReader, count: Int) -> (entries: [HistoryEntry], seed: UInt64)? {
        var reader = bytes
        guard reader.unsigned() == UInt64(version), let seed = reader.unsigned(), let entryCount = reader.unsigned(),
            let texts = reader.unsigned(), entryCount <= UInt64(count), texts <= UInt64(count)
        else { return nil }
        var table: [String] = []
        for _ in 0..<texts {
            guard let text = reader.text() else { return nil }
            table.append(text)
        }
        var entries: [HistoryEntry] = []
        entries.reserveCapacity(Int(entryCount))
        var before = HistoryEntry(.stateSet, at: UnixTime(milliseconds: 0), revision: 0)
        for _ in 0..<entryCount {
            guard let entry = reader.entry(after: before, table, seed: seed) else { return nil }
            entries.append(entry)
            let device = entry.device ?? before.device
            before = entry
            before.device = device
        }
        return reader.isAtEnd ? (entries, seed) : nil
    }
}

extension PackedReader {
    fileprivate mutating func entry(after before: HistoryEntry, _ table: [String], seed: UInt64) -> HistoryEntry? {
        guard let flags = unsigned(), flags < HistoryCoder.isAlike * 2 else { return nil }
        var entry = before
        entry.device = nil
        entry.pushID = nil
        entry.carriesAlert = flags & HistoryCoder.carriesAlert != 0
        if flags & HistoryCoder.hasDevice != 0 {
            guard let difference = signed() else { return nil }
            entry.device = (before.device ?? 0) &+ difference
        }
        guard let at = signed() else { return nil }
        entry.at = UnixTime(milliseconds: before.at.milliseconds &+ at)
        if flags & HistoryCoder.isAlike == 0 {
            guard readDifferences(&entry, table) else { return nil }
        }
        if flags & HistoryCoder.idFollows != 0 {
            entry.pushID = entry.device.map { .of($0, seed: seed) }
        } else if flags & HistoryCoder.hasID != 0 {
            guard let high = word(), let low = word() else { return nil }
            entry.pushID = PushID(high: high, low: low)
        }
        return entry
    }

    private mutating func readDifferences(_ entry: inout HistoryEntry, _ table: [String]) -> Bool {
        func lookUp(_ index: UInt64) -> String? { index == 0 ? nil : table[Int(index) - 1] }
        guard let kindNumber = unsigned(), let kind = HistoryEntry.Kind(rawValue: Int(truncatingIfNeeded: kindNumber)),
            let revision = signed(), let timestamp = signed(), let priority = unsigned(), let status = unsigned(),
            let reason = unsigned(), let outcome = unsigned(), let detail = unsigned(),
            max(reason, outcome, detail) <= UInt64(table.count)
        else { return false }
        entry.kind = kind
        entry.revision &+= revision
        entry.timestamp &+= timestamp
        entry.priority = Int(truncatingIfNeeded: priority)
        entry.status = Int(truncatingIfNeeded: status)
        entry.reason = lookUp(reason).flatMap(Reason.init(stored:))
        entry.outcome = lookUp(outcome).flatMap(Reason.init(stored:))
        entry.detail = lookUp(detail) ?? ""
        return true
    }
}
