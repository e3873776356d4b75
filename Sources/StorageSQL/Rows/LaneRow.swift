import APNSModel
import LiveActivityCore

extension LaneRecord: StoredRow {
    static let table = "lane"
    static let columns = [
        "activity", "from_dk", "to_dk", "pos", "stop", "wrapped", "lap", "look_at", "next_at", "fence", "tries",
        "reason", "waits_for", "absent", "open", "live", "over", "flight_node", "flight_claimed_at",
        "flight_lease_until",
        "flight_from", "flight_to", "flight_devices", "flight_rev", "flight_ts", "flight_seed", "on_channel",
        "channel_run",
    ]
    static let keyColumns = ["activity", "from_dk"]

    init(_ row: inout RowReader) throws {
        self.init(activity: row.int())
        fromDevice = row.int()
        toDevice = row.int()
        position = row.int()
        stop = row.int()
        hasWrapped = row.bool()
        lap = row.int()
        lookAt = row.timeOrNil()
        nextAt = row.timeOrNil()
        fence = row.int()
        tries = Int(row.int())
        reason = try decodeReason(row.textOrNil(), Self.table, "reason")
        waitsFor = try row.textOrNil().map { text in
            guard let condition = LaneCondition(stored: text) else {
                throw DamagedRow(table: Self.table, column: "waits_for")
            }
            return condition
        }
        counts.absent = Int(row.int())
        counts.open = Int(row.int())
        counts.live = Int(row.int())
        counts.over = Int(row.int())
        let node = row.intOrNil()
        try readFlight(of: node, &row)
        counts.onChannel = Int(row.int())
        channelRun = Int(row.int())
    }

    private mutating func readFlight(of node: Int64?, _ row: inout RowReader) throws {
        guard let node else { return row.skip(8) }
        guard let claimedAt = row.timeOrNil(), let leaseUntil = row.timeOrNil(), let from = row.intOrNil(),
            let to = row.intOrNil()
        else { throw DamagedRow(table: Self.table, column: "flight") }
        let devices = try row.blobOrNil().map(Self.devices)
        guard let revision = row.intOrNil(), let timestamp = row.intOrNil(), let seed = row.intOrNil() else {
            throw DamagedRow(table: Self.table, column: "flight")
        }
        flight = FlightRecord(
            node: node, claimedAt: claimedAt, leaseUntil: leaseUntil, fromDevice: from, toDevice: to,
            devices: devices, revision: revision, timestamp: timestamp, seed: UInt64(bitPattern: seed))
    }

    func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(fromDevice)
        row.int(toDevice)
        row.int(position)
        row.int(stop)
        row.bool(hasWrapped)
        row.int(lap)
        row.time(lookAt)
        row.time(nextAt)
        row.int(fence)
        row.int(Int64(tries))
        row.text(reason?.stored)
        row.text(waitsFor?.stored)
        row.int(Int64(counts.absent))
        row.int(Int64(counts.open))
        row.int(Int64(counts.live))
        row.int(Int64(counts.over))
        row.int(flight?.node)
        row.time(flight?.claimedAt)
        row.time(flight?.leaseUntil)
        row.int(flight?.fromDevice)
        row.int(flight?.toDevice)
        row.blob(flight?.devices.map(Self.bytes))
        row.int(flight?.revision)
        row.int(flight?.timestamp)
        row.int(flight.map { Int64(bitPattern: $0.seed) })
        row.int(Int64(counts.onChannel))
        row.int(Int64(channelRun))
    }

    /// Returns the format in one byte, then eight big-endian bytes for each device.
    private static func bytes(_ devices: [DeviceKey]) -> [UInt8] {
        [UInt8(PackedFormat.flightDevices)]
            + devices.flatMap { device in withUnsafeBytes(of: device.bigEndian, Array.init) }
    }

    private static func devices(_ bytes: [UInt8]) throws -> [DeviceKey] {
        let saysFormat = !bytes.count.isMultiple(of: 8)
        if saysFormat, let format = bytes.first.map(UInt64.init), format > PackedFormat.flightDevices {
            throw DamagedRow(table: table, column: "flight_devices", newerFormat: format)
        }
        guard bytes.count % 8 <= 1 else { throw DamagedRow(table: table, column: "flight_devices") }
        return stride(from: saysFormat ? 1 : 0, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(0) { $0 << 8 | DeviceKey($1) }
        }
    }
}
