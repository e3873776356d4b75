import APNSModel
import LiveActivityCore

/// A stored update token of a card, sealed for its phone, activity and generation.
struct UpdateTokenRow: StoredRow {
    static let table = "update_token"
    static let columns = ["activity", "dk", "gen", "env", "key", "value", "seen_at", "dead_at", "predecessor"]
    static let keyColumns = ["activity", "dk"]
    static func derived(from alias: String) -> [String] { [appOfDevice(alias)] }

    let record: UpdateTokenRecord
    let key: Int64
    let value: [UInt8]
    let predecessor: [UInt8]?

    /// Returns the columns for a query that already has the device's row.
    static func list(of alias: String, app: String) -> String {
        (columns.map { "\(alias).\($0)" } + [app]).joined(separator: ", ")
    }

    init(sealing record: UpdateTokenRecord, app: String, _ sealing: TokenSealing) throws {
        self.record = record
        key = try sealing.primary(.sealing)
        value = try sealing.seal(record.value, at: Self.place(.update, record), app: app, name: "")
        predecessor = try record.predecessor.map { token in
            try sealing.seal(token, at: Self.place(.predecessor, record), app: app, name: "")
        }
    }

    /// Reads all columns before it interprets them, so that columns of another table may follow.
    init(_ row: inout RowReader) throws {
        let (activity, device, generation) = (row.int(), row.int(), row.int())
        let environment = row.text()
        key = row.int()
        let sealed = row.placeOrNil() ?? .empty
        let (seenAt, deadAt) = (row.time(), row.timeOrNil())
        let sealedPredecessor = row.placeOrNil()
        let app = row.placeOrNil() ?? .empty
        var place = TokenPlace(kind: .update, device: device, activity: activity, generation: generation)
        guard let token = try row.sealing.open(sealed, under: key, at: place, app: app, name: .empty) else {
            throw DamagedRow(table: Self.table, column: "value", isSealed: true)
        }
        var record = UpdateTokenRecord(
            activity: activity, device: device, generation: generation,
            environment: try decodeCase(environment, Self.table, "env"), value: token, firstSeenAt: seenAt)
        record.deadAt = deadAt
        if let sealedPredecessor {
            place.kind = .predecessor
            let token = try row.sealing.open(sealedPredecessor, under: key, at: place, app: app, name: .empty)
            guard let token else {
                throw DamagedRow(table: Self.table, column: "predecessor", isSealed: true)
            }
            record.predecessor = token
        }
        self.record = record
        // Only values that were sealed here are written.
        value = []
        predecessor = nil
    }

    func bind(_ row: inout RowBinder) {
        row.int(record.activity)
        row.int(record.device)
        row.int(record.generation)
        row.text(record.environment.rawValue)
        row.int(key)
        row.blob(value)
        row.time(record.firstSeenAt)
        row.time(record.deadAt)
        row.blob(predecessor)
    }

    private static func place(_ kind: TokenPlace.Kind, _ record: UpdateTokenRecord) -> TokenPlace {
        TokenPlace(kind: kind, device: record.device, activity: record.activity, generation: record.generation)
    }
}

/// A stored token of a device, sealed for its device, kind, type and generation.
struct DeviceTokenRow: StoredRow {
    static let table = "device_token"
    static let columns = ["dk", "kind", "type", "gen", "env", "key", "value", "seen_at", "dead_at", "missed_starts"]
    static let keyColumns = ["dk", "kind", "type"]
    static func derived(from alias: String) -> [String] { [appOfDevice(alias)] }

    let record: DeviceTokenRecord
    let key: Int64
    let value: [UInt8]

    init(sealing record: DeviceTokenRecord, app: String, _ sealing: TokenSealing) throws {
        self.record = record
        key = try sealing.primary(.sealing)
        value = try sealing.seal(record.value, at: Self.place(record), app: app, name: record.type)
    }

    init(_ row: inout RowReader) throws {
        let device = row.int()
        let kind: DeviceTokenRecord.Kind = try decodeCase(row.int(), Self.table, "kind")
        let type = row.text()
        let generation = row.int()
        let environment = row.text()
        let key = row.int()
        let sealed = row.placeOrNil() ?? .empty
        let (seenAt, deadAt, missedStarts) = (row.time(), row.timeOrNil(), row.int())
        let app = row.placeOrNil() ?? .empty
        var name = type
        let place = TokenPlace(kind: Self.kind(kind), device: device, generation: generation)
        let sealing = row.sealing
        let token = try name.withUTF8 { name in
            try sealing.open(sealed, under: key, at: place, app: app, name: UnsafeRawBufferPointer(name))
        }
        guard let token else { throw DamagedRow(table: Self.table, column: "value", isSealed: true) }
        var record = DeviceTokenRecord(
            device: device, kind: kind, type: type, generation: generation,
            environment: try decodeCase(environment, Self.table, "env"), value: token, firstSeenAt: seenAt)
        record.deadAt = deadAt
        record.missedStarts = Int(missedStarts)
        self.record = record
        self.key = key
        value = []
    }

    func bind(_ row: inout RowBinder) {
        row.int(record.device)
        row.int(Int64(record.kind.rawValue))
        row.text(record.type)
        row.int(record.generation)
        row.text(record.environment.rawValue)
        row.int(key)
        row.blob(value)
        row.time(record.firstSeenAt)
        row.time(record.deadAt)
        row.int(Int64(record.missedStarts))
    }

    private static func place(_ record: DeviceTokenRecord) -> TokenPlace {
        TokenPlace(kind: kind(record.kind), device: record.device, generation: record.generation)
    }

    private static func kind(_ kind: DeviceTokenRecord.Kind) -> TokenPlace.Kind {
        kind == .device ? .device : .pushToStart
    }
}

/// The owner of a token, found by the token's keyed hash.
///
/// The row also contains the sealed token. It can therefore be hashed under another key, even if no other row has the
/// token any more.
struct TokenOwnerRow: StoredRow {
    static let table = "token_owner"
    static let columns = [
        "hash", "app", "look_up", "kind", "dk", "activity", "seen_at", "dead_at", "key", "value", "released_at",
    ]
    static let keyColumns = ["hash"]

    let record: TokenOwnerRecord
    let hash: String
    let lookUp: Int64
    let key: Int64
    let value: [UInt8]

    init(sealing record: TokenOwnerRecord, _ sealing: TokenSealing) throws {
        self.record = record
        hash = try sealing.hash(of: record.key)
        lookUp = try sealing.primary(.lookUp)
        key = try sealing.primary(.sealing)
        value = try sealing.seal(
            record.value, at: Self.place(record.kind, record.device, record.activity), app: record.app.text, name: hash)
    }

    init(_ row: inout RowReader) throws { try self.init(&row, of: [:]) }

    /// Reads an owner.
    ///
    /// - Parameter known: Owners by hash. The tokens of these owners need not be opened.
    init(_ row: inout RowReader, of known: [String: Snapshot.OwnerKey]) throws {
        hash = row.text()
        var app = row.text()
        lookUp = row.int()
        let kind: TokenOwnerRecord.Kind = try decodeCase(row.int(), Self.table, "kind")
        let (device, activity) = (row.int(), row.int())
        let (seenAt, deadAt) = (row.time(), row.timeOrNil())
        key = row.int()
        let sealed = row.placeOrNil() ?? .empty
        let releasedAt = row.timeOrNil()
        var name = hash
        let (sealing, key) = (row.sealing, key)
        guard let bundleID = BundleID(app) else { throw DamagedRow(table: Self.table, column: "app") }
        let token =
            try known[hash]?.id
            ?? name.withUTF8 { name in
                try app.withUTF8 { app in
                    try sealing.open(
                        sealed, under: key, at: Self.place(kind, device, activity), app: UnsafeRawBufferPointer(app),
                        name: UnsafeRawBufferPointer(name))
                }
            }
        guard let token else { throw DamagedRow(table: Self.table, column: "value", isSealed: true) }
        var record = TokenOwnerRecord(
            app: bundleID, value: token, kind: kind, device: device, activity: activity, firstSeenAt: seenAt)
        record.deadAt = deadAt
        record.releasedAt = releasedAt
        self.record = record
        value = []
    }

    func bind(_ row: inout RowBinder) {
        row.text(hash)
        row.text(record.app.text)
        row.int(lookUp)
        row.int(Int64(record.kind.rawValue))
        row.int(record.device)
        row.int(record.activity)
        row.time(record.firstSeenAt)
        row.time(record.deadAt)
        row.int(key)
        row.blob(value)
        row.time(record.releasedAt)
    }

    private static func place(
        _ kind: TokenOwnerRecord.Kind, _ device: DeviceKey, _ activity: ActivityNumber
    ) -> TokenPlace {
        // An owner has no generation, so the kind of its token takes that field.
        TokenPlace(kind: .owner, device: device, activity: activity, generation: Int64(kind.rawValue))
    }
}

/// Returns an expression for the app of the row's device.
private func appOfDevice(_ alias: String) -> String { "(SELECT app FROM device WHERE dk = \(alias).dk)" }

extension UnsafeRawBufferPointer {
    fileprivate static var empty: Self { Self(start: nil, count: 0) }
}
