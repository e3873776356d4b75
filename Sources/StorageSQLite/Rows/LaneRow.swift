import APNSModel
import GRDB
import LiveActivityCore

extension LaneRecord {
    init(_ row: Row) throws {
        self.init(activity: row["activity"])
        fromDevice = row["from_dk"]
        toDevice = row["to_dk"]
        position = row["pos"]
        stop = row["stop"]
        hasWrapped = row["wrapped"]
        lapRevision = row["lap_rev"]
        lapNextAt = row["lap_next_at"]
        nextAt = row["next_at"]
        fence = row["fence"]
        tries = row["tries"]
        reason = try decodeReason(row["reason"], "lane", "reason")
        guard let node: Int64 = row["flight_node"] else { return }
        guard let claimedAt: UnixTime = row["flight_claimed_at"], let leaseUntil: UnixTime = row["flight_lease_until"],
            let from: DeviceKey = row["flight_from"], let to: DeviceKey = row["flight_to"],
            let revision: Revision = row["flight_rev"], let timestamp: Int64 = row["flight_ts"],
            let seed: Int64 = row["flight_seed"]
        else { throw DamagedRow(table: "lane", column: "flight") }
        flight = FlightRecord(
            node: node, claimedAt: claimedAt, leaseUntil: leaseUntil, fromDevice: from, toDevice: to,
            revision: revision, timestamp: timestamp, seed: UInt64(bitPattern: seed))
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO lane (activity, from_dk, to_dk, pos, stop, wrapped, lap_rev, lap_next_at,
                    next_at, fence, tries, reason, flight_node, flight_claimed_at, flight_lease_until, flight_from,
                    flight_to, flight_rev, flight_ts, flight_seed)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            activity, fromDevice, toDevice, position, stop, hasWrapped, lapRevision, lapNextAt, nextAt, fence, tries,
            reason?.stored, flight?.node, flight?.claimedAt, flight?.leaseUntil, flight?.fromDevice, flight?.toDevice,
            flight?.revision, flight?.timestamp, flight.map { Int64(bitPattern: $0.seed) },
        ])
    }
}
