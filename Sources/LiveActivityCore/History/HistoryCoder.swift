import APNSModel

/// The bytes of a timeline row: numbers as variable-length integers relative to the entry before, texts once per row.
///
/// Most entries of a row differ in little but the device, and a push's id follows from the device and the seed of its
/// flight, so that a push costs about fifteen bytes.
package enum HistoryCoder {
    private static let version: UInt8 = 2

    package static func encode(_ entries: [HistoryEntry], seed: UInt64 = 0) -> [UInt8] {
        var writer = Writer()
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
            writer.unsigned(UInt64(entry.kind.rawValue))
            let follows = seed != 0 && entry.pushID != nil && entry.pushID == entry.device.map { .of($0, seed: seed) }
            let flags: UInt64 =
                (entry.carriesAlert ? 1 : 0) | (entry.device == nil ? 0 : 2) | (entry.pushID == nil ? 0 : 4)
                | (follows ? 8 : 0)
            writer.unsigned(flags)
            if let device = entry.device { writer.signed(device &- (before.device ?? 0)) }
            writer.signed(entry.at.milliseconds &- before.at.milliseconds)
            writer.signed(entry.revision &- before.revision)
            writer.signed(entry.timestamp &- before.timestamp)
            writer.unsigned(UInt64(entry.priority))
            writer.unsigned(UInt64(entry.status))
            writer.unsigned(index(entry.reason?.stored))
            writer.unsigned(index(entry.outcome?.stored))
            writer.unsigned(index(entry.detail))
            if let id = entry.pushID, !follows { writer.words(id.high, id.low) }
            let device = entry.device ?? before.device
            before = entry
            before.device = device
        }
        var head = Writer()
        head.bytes = [version]
        head.unsigned(seed)
        head.unsigned(UInt64(entries.count))
        head.unsigned(UInt64(table.count))
        for text in table {
            head.unsigned(UInt64(text.utf8.count))
            head.bytes += text.utf8
        }
        return head.bytes + writer.bytes
    }

    /// `nil` for bytes that this version did not write: a damaged row is reported by its reader, never guessed at.
    package static func decode(_ bytes: [UInt8]) -> (entries: [HistoryEntry], seed: UInt64)? {
        var reader = Reader(bytes: bytes)
        guard reader.byte() == version, let seed = reader.unsigned(), let count = reader.unsigned(),
            let texts = reader.unsigned(),
            count <= UInt64(bytes.count), texts <= UInt64(bytes.count)
        else { return nil }
        var table: [String] = []
        for _ in 0..<texts {
            guard let length = reader.unsigned(), let text = reader.text(length) else { return nil }
            table.append(text)
        }
        var entries: [HistoryEntry] = []
        var before = HistoryEntry(.stateSet, at: UnixTime(milliseconds: 0), revision: 0)
        for _ in 0..<count {
            guard let entry = reader.entry(after: before, table, seed: seed) else { return nil }
            entries.append(entry)
            let device = entry.device ?? before.device
            before = entry
            before.device = device
        }
        return reader.position == bytes.count ? (entries, seed) : nil
    }

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func unsigned(_ value: UInt64) {
            var rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }

        /// Zigzag, so that small negative numbers stay short.
        mutating func signed(_ value: Int64) {
            unsigned(UInt64(bitPattern: value << 1 ^ value >> 63))
        }

        mutating func words(_ high: UInt64, _ low: UInt64) {
            for word in [high, low] {
                for shift in stride(from: UInt64(56), through: 0, by: -8) {
                    bytes.append(UInt8(truncatingIfNeeded: word >> shift))
                }
            }
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        mutating func byte() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func unsigned() -> UInt64? {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), through: 63, by: 7) {
                guard let byte = byte() else { return nil }
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
            }
            return nil
        }

        mutating func signed() -> Int64? {
            unsigned().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
        }

        mutating func word() -> UInt64? {
            var value: UInt64 = 0
            for _ in 0..<8 {
                guard let byte = byte() else { return nil }
                value = value << 8 | UInt64(byte)
            }
            return value
        }

        mutating func text(_ length: UInt64) -> String? {
            guard length <= UInt64(bytes.count - position) else { return nil }
            defer { position += Int(length) }
            return String(decoding: bytes[position..<position + Int(length)], as: UTF8.self)
        }

        mutating func entry(after before: HistoryEntry, _ table: [String], seed: UInt64) -> HistoryEntry? {
            func lookUp(_ index: UInt64) -> String? {
                index == 0 ? nil : table[Int(index) - 1]
            }
            guard let kindNumber = unsigned(),
                let kind = HistoryEntry.Kind(rawValue: Int(truncatingIfNeeded: kindNumber)),
                let flags = unsigned()
            else { return nil }
            var device: DeviceKey?
            if flags & 2 != 0 {
                guard let difference = signed() else { return nil }
                device = (before.device ?? 0) &+ difference
            }
            guard let at = signed(), let revision = signed(), let timestamp = signed(), let priority = unsigned(),
                let status = unsigned(), let reason = unsigned(), let outcome = unsigned(), let detail = unsigned(),
                max(reason, outcome, detail) <= UInt64(table.count)
            else { return nil }
            var id: PushID?
            if flags & 8 != 0 {
                id = device.map { .of($0, seed: seed) }
            } else if flags & 4 != 0 {
                guard let high = word(), let low = word() else { return nil }
                id = PushID(high: high, low: low)
            }
            return HistoryEntry(
                kind, device: device, at: UnixTime(milliseconds: before.at.milliseconds &+ at),
                revision: before.revision &+ revision, timestamp: before.timestamp &+ timestamp,
                priority: Int(truncatingIfNeeded: priority), carriesAlert: flags & 1 != 0,
                status: Int(truncatingIfNeeded: status), reason: lookUp(reason).flatMap(Reason.init(stored:)),
                outcome: lookUp(outcome).flatMap(Reason.init(stored:)), detail: lookUp(detail) ?? "", pushID: id)
        }
    }
}
