import APNSModel
import Foundation
import LiveActivityCore

/// Finds the lanes that are due, and loads a page of phones for each: see `DueLanes`.
struct DueLoader {
    private let due: DueLanes
    private let sql: Statements
    private let phones: PhoneLoader
    /// The devices of the small lanes, by activity.
    private var smallLanes: [ActivityNumber: [DeviceKey]] = [:]

    private init(due: DueLanes, sql: Statements) {
        self.due = due
        self.sql = sql
        phones = PhoneLoader(sql: sql, counting: due.counting, isStrict: true)
    }

    static func load(_ due: DueLanes, _ sql: Statements, _ snapshot: inout Snapshot) throws {
        var loader = Self(due: due, sql: sql)
        try loader.findLanes(&snapshot)
        try loader.findLowerHalves(&snapshot)
        try loader.loadWholePages(&snapshot)
    }

    /// Loads the pages of `work.due`. All of them are lanes of small activities.
    static func loadPages(of work: inout Snapshot, _ due: DueLanes, _ sql: Statements) throws {
        var loader = Self(due: due, sql: sql)
        try loader.loadWholePages(&work)
    }

    /// Loads the pages of `snapshot.due`, with what a start needs.
    private mutating func loadWholePages(_ snapshot: inout Snapshot) throws {
        try loadPages(&snapshot)
        let found = snapshot.pages.flatMap { key, page in
            page.devices.map { Snapshot.PhoneKey(key.activity, $0) }
        }
        try phones.loadStarts(found, &snapshot)
    }

    // MARK: - Lanes

    private struct Candidate {
        let at: UnixTime
        let activity: ActivityNumber
        /// The lane, or `nil` for all lanes of the activity.
        let lane: DeviceKey?
    }

    private func findLanes(_ snapshot: inout Snapshot) throws {
        var lost: [LaneKey] = []
        // Flights of a lost process come first, even if their leases have not expired.
        try sql.query(
            """
            SELECT activity, from_dk FROM lane INDEXED BY lane_in_flight
            WHERE flight_node IS NOT NULL AND flight_node <> ? ORDER BY activity, from_dk LIMIT ?
            """, [.int(due.node), .int(Int64(due.lanes))]
        ) { row in lost.append(LaneKey(row.int(), row.int())) }
        var candidates: [Candidate] = []
        try sql.query(
            """
            SELECT next_at, activity, from_dk FROM lane WHERE next_at <= ?
            ORDER BY next_at, activity, from_dk LIMIT ?
            """, [.int(due.at.milliseconds), .int(Int64(due.lanes))]
        ) { row in candidates.append(Candidate(at: row.time(), activity: row.int(), lane: row.int())) }
        try sql.query(
            "SELECT wake_at, no FROM activity WHERE wake_at <= ? ORDER BY wake_at, no LIMIT ?",
            [.int(due.at.milliseconds), .int(Int64(due.lanes))]
        ) { row in candidates.append(Candidate(at: row.time(), activity: row.int(), lane: nil)) }
        candidates.sort { left, right in
            (left.at, left.activity, left.lane ?? -1) < (right.at, right.activity, right.lane ?? -1)
        }
        let ready = try sql.readyLanes(due, besides: candidates.count).map { lane in
            Candidate(at: due.at, activity: lane.activity, lane: lane.fromDevice)
        }
        var turns = DueLanes.Turns(ready, candidates)
        try SnapshotLoader.fetchActivities(
            Set(lost.map(\.activity) + (ready + candidates).map(\.activity)), sql, &snapshot)
        var taken = Set(lost)
        snapshot.due = lost
        while let candidate = turns.next() {
            guard let activity = snapshot.activities[candidate.activity] else { continue }
            let lanes: [LaneKey]
            if let from = candidate.lane {
                lanes = [LaneKey(candidate.activity, from)]
            } else {
                lanes = (snapshot.lanes[candidate.activity] ?? []).filter { lane in
                    lane.page(for: activity, at: due.at) != .due && lane.flight == nil
                        && !lane.isBackingOff(now: due.at)
                }.map(\.key)
            }
            let new = lanes.filter { !taken.contains($0) }
            guard snapshot.due.isEmpty || snapshot.due.count + new.count <= due.lanes else { break }
            if candidate.lane == nil { snapshot.woken.append(candidate.activity) }
            snapshot.due += new
            if !new.isEmpty { turns.pass() }
            taken.formUnion(new)
        }
    }

    private func findLowerHalves(_ snapshot: inout Snapshot) throws {
        for key in snapshot.due {
            guard let lanes = snapshot.lanes[key.activity], let lane = snapshot.lane(key),
                lane.shouldSplit(lanes: lanes.count, due.width)
            else { continue }
            var counts = LaneCounts()
            try sql.query(
                """
                SELECT state, count(*), sum(CASE WHEN channel_run = ? THEN 1 ELSE 0 END) FROM instance
                WHERE activity = ? AND dk >= ? AND dk < ? GROUP BY state
                """,
                [.int(Int64(lane.channelRun)), .int(key.activity), .int(lane.fromDevice), .int(lane.middle)]
            ) { row in
                let state: CardState = try decodeCase(row.int(), "instance", "state")
                counts.count(state, Int(row.int()))
                counts.onChannel += Int(row.int())
            }
            snapshot.lowerHalves[key] = counts
        }
    }

    // MARK: - Pages

    private mutating func loadPages(_ snapshot: inout Snapshot) throws {
        let total = snapshot.due.reduce(0) { $0 + (snapshot.lane($1)?.counts.total ?? 0) }
        var room = due.phones
        snapshot.cards.reserveCapacity(min(total, room))
        snapshot.facts.reserveCapacity(min(total, room))
        snapshot.updateTokens.reserveCapacity(min(total, room))
        try loadSmallLanes(&snapshot)
        var roomOf: [ActivityNumber: Int] = [:]
        for key in snapshot.due {
            guard let lane = snapshot.lane(key), let activity = snapshot.activities[key.activity] else { continue }
            if let flight = lane.flight {
                guard lane.isAbandoned(now: due.at, node: due.node) else { continue }
                snapshot.pages[key] = try flightPage(lane, flight, &snapshot)
                room -= snapshot.pages[key]?.devices.count ?? 0
                continue
            }
            guard room > 0, !lane.isBackingOff(now: due.at), snapshot.lowerHalves[key] == nil else { continue }
            let limit = min(room, due.phonesOfLane, roomOf[key.activity] ?? due.room(of: key.activity))
            guard limit > 0 else { continue }
            let page = try page(of: lane, activity, limit: limit, &snapshot)
            snapshot.pages[key] = page
            room -= page.devices.count
            roomOf[key.activity] = (roomOf[key.activity] ?? due.room(of: key.activity)) - page.devices.count
        }
    }

    private func isSmall(_ lane: LaneRecord, _ snapshot: Snapshot) -> Bool {
        lane.counts.total <= LaneRecord.small && snapshot.lanes[lane.activity]?.count == 1
    }

    private mutating func loadSmallLanes(_ snapshot: inout Snapshot) throws {
        smallLanes = snapshot.fewPhones
        let small = snapshot.due.filter { key in
            smallLanes[key.activity] == nil && snapshot.lane(key).map { isSmall($0, snapshot) } ?? false
        }
        guard !small.isEmpty else { return }
        let keys = try phones.load(
            where: "i.activity IN (SELECT value FROM list(?))", [.list(small.map(\.activity))], &snapshot)
        for key in keys { smallLanes[key.activity, default: []].append(key.device) }
    }

    private func flightPage(
        _ lane: LaneRecord, _ flight: FlightRecord, _ snapshot: inout Snapshot
    ) throws -> Snapshot.Page {
        if let devices = flight.devices {
            try phones.load(Set(devices.map { .init(lane.activity, $0) }), &snapshot)
            return Snapshot.Page(
                devices: devices.sorted().filter { snapshot.cards[.init(lane.activity, $0)] != nil },
                isComplete: true)
        }
        let devices = try stretch(
            of: lane.activity, flight.fromDevice, through: flight.toDevice, limit: .max, &snapshot)
        return Snapshot.Page(devices: devices, isComplete: true)
    }

    private func page(
        of lane: LaneRecord, _ activity: ActivityRecord, limit: Int, _ snapshot: inout Snapshot
    ) throws -> Snapshot.Page {
        switch lane.page(for: activity, at: due.at) {
        case .lap(let stretches):
            var devices: [DeviceKey] = []
            for range in stretches {
                // One row beyond the limit shows whether the page is complete.
                let left = limit - devices.count
                let found: [DeviceKey]
                if isSmall(lane, snapshot) {
                    found = (smallLanes[lane.activity] ?? []).sorted().filter { device in
                        let card = snapshot.cards[.init(lane.activity, device)]
                        return range.contains(device) && !(card?.isPassedOver(in: activity, at: due.at) ?? false)
                    }
                } else {
                    let passesChannelsOver = activity.hasChannels && activity.passesChannelsOver(at: due.at)
                    found = try stretch(
                        of: lane.activity, range.lowerBound, through: range.upperBound - 1, limit: left + 1,
                        besidesChannelsOf: passesChannelsOver ? activity.run : nil, &snapshot)
                }
                devices += found.prefix(left)
                if found.count > left { return Snapshot.Page(devices: devices, isComplete: false) }
            }
            return Snapshot.Page(devices: devices, isComplete: true)
        case .due:
            return isSmall(lane, snapshot)
                ? smallDuePage(of: lane, limit: limit, snapshot) : try duePage(of: lane, limit: limit, &snapshot)
        }
    }

    private func smallDuePage(of lane: LaneRecord, limit: Int, _ snapshot: Snapshot) -> Snapshot.Page {
        var devices: [DeviceKey] = []
        var next: UnixTime?
        for device in (smallLanes[lane.activity] ?? []).sorted() {
            guard let time = snapshot.cards[.init(lane.activity, device)]?.lookAt else { continue }
            if time <= due.at { devices.append(device) } else { next = min(next ?? time, time) }
        }
        return Snapshot.Page(
            devices: Array(devices.prefix(limit)), isComplete: devices.count <= limit, nextLookAt: next)
    }

    private func duePage(of lane: LaneRecord, limit: Int, _ snapshot: inout Snapshot) throws -> Snapshot.Page {
        let range = [Statements.Argument.int(lane.activity), .int(lane.fromDevice), .int(lane.toDevice)]
        let (now, most) = (Statements.Argument.int(due.at.milliseconds), Statements.Argument.int(Int64(limit + 1)))
        let few = try sql.number(Self.countOfDue, [range[0], now, most]).map { $0 <= limit } ?? true
        let devices = try phones.load(
            where: few ? Self.dueByTime : Self.dueByKey, range + [now, most], by: few ? "instance_look" : nil, &snapshot
        ).map(\.device)
        return Snapshot.Page(
            devices: Array(devices.prefix(limit)), isComplete: devices.count <= limit,
            nextLookAt: try nextLook(range, limit: limit))
    }

    // A lane's page is read along the index by time if few phones of the activity are due: the index knows nothing of
    // lanes. Otherwise the lane's own phones are read in their order. Either way the cost is at most the lane's size,
    // not the activity's.
    static let countOfDue = """
        SELECT count(*) FROM (
            SELECT 1 FROM instance INDEXED BY instance_look WHERE activity = ? AND look_at <= ? LIMIT ?
        ) AS early
        """
    static let dueByTime = """
        i.activity = ?1 AND i.look_at <= ?4 AND i.dk >= ?2 AND i.dk < ?3 ORDER BY i.dk LIMIT ?5
        """
    // The sign keeps the index by time out.
    static let dueByKey = """
        i.activity = ?1 AND i.dk >= ?2 AND i.dk < ?3 AND +i.look_at <= ?4 ORDER BY i.dk LIMIT ?5
        """
    static let nextByTime = """
        SELECT min(CASE WHEN dk >= ?2 AND dk < ?3 THEN look_at END), count(*) FROM (
            SELECT dk, look_at FROM instance INDEXED BY instance_look
            WHERE activity = ?1 AND look_at > ?4 ORDER BY look_at LIMIT ?5
        ) AS next
        """
    static let nextByKey = """
        SELECT min(+look_at) FROM instance WHERE activity = ?1 AND dk >= ?2 AND dk < ?3 AND +look_at > ?4
        """

    /// Returns the earliest time after now at which a phone of the range needs a look.
    private func nextLook(_ range: [Statements.Argument], limit: Int) throws -> UnixTime? {
        let now = Statements.Argument.int(due.at.milliseconds)
        var (next, seen): (Int64?, Int64) = (nil, 0)
        try sql.query(Self.nextByTime, range + [now, .int(Int64(limit + 1))]) { row in
            next = row.intOrNil()
            seen = row.int()
        }
        if next == nil, seen > limit { next = try sql.number(Self.nextByKey, range + [now]) }
        return next.map(UnixTime.init(milliseconds:))
    }

    private func stretch(
        of activity: ActivityNumber, _ first: DeviceKey, through last: DeviceKey, limit: Int,
        besidesChannelsOf run: Int? = nil, _ snapshot: inout Snapshot
    ) throws -> [DeviceKey] {
        let range = [Statements.Argument.int(activity), .int(first), .int(last)]
        guard let run else {
            return try phones.load(
                where: "i.activity = ? AND i.dk BETWEEN ? AND ? ORDER BY i.dk LIMIT ?",
                range + [.int(Int64(limit))], &snapshot
            ).map(\.device)
        }
        return try phones.load(
            where: Self.besidesChannels, range + [.int(Int64(run)), .int(Int64(limit))], &snapshot
        ).map(\.device)
    }

    /// Selects the phones that a lap concerns in an activity with channels.
    static let besidesChannels = """
        i.activity = ? AND i.dk BETWEEN ? AND ? AND (i.channel_run IS NULL OR i.channel_run <> ?)
        ORDER BY i.dk LIMIT ?
        """
}
