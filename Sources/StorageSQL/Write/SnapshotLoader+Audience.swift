import APNSModel
import LiveActivityCore

extension SnapshotLoader {
    /// Loads the rows of audiences, named members, and pages of members.
    mutating func resolveAudiences(_ keys: [SnapshotKey]) throws {
        var activities: Set<ActivityNumber> = []
        var named: Set<Snapshot.MemberKey> = []
        for key in keys {
            switch key {
            case .audience(let app, let id, let users):
                guard let number = snapshot.activityNumbers[.init(app, id)] else { continue }
                activities.insert(number)
                named.formUnion(users.compactMap { snapshot.users[.init(app, $0)] }.map { .init(number, $0) })
            case .audiencePage(let app, let id, let after, let limit, let mark):
                guard let number = snapshot.activityNumbers[.init(app, id)] else { continue }
                activities.insert(number)
                try page(of: number, after: after, limit: limit, besides: mark)
            default: continue
            }
        }
        guard !activities.isEmpty else { return }
        try fetchAudiences(activities)
        guard !named.isEmpty else { return }
        try sql.query(
            """
            SELECT m.activity, m.user, m.mark FROM pairs(?) j CROSS JOIN member m
            ON m.activity = j.a AND m.user = j.b
            """, [.pairs(named.sorted().map { ($0.activity, $0.user) })]
        ) { row in note(.init(row.int(), row.int()), mark: row.int()) }
    }

    /// Loads the rows of audiences.
    mutating func fetchAudiences(_ activities: Set<ActivityNumber>) throws {
        try sql.query(
            "SELECT \(AudienceRecord.list) FROM audience WHERE activity IN (SELECT value FROM list(?))",
            [.list(activities.sorted())]
        ) { row in
            let record = try AudienceRecord(&row)
            snapshot.audiences[record.activity] = record
        }
    }

    private mutating func page(
        of activity: ActivityNumber, after: UserNumber, limit: Int, besides mark: Int64?
    ) throws {
        // One row beyond the limit shows whether the audience ends here.
        var found: [(key: Snapshot.MemberKey, mark: Int64)] = []
        try sql.query(
            "SELECT activity, user, mark FROM member WHERE activity = ? AND user > ? ORDER BY user LIMIT ?",
            [.int(activity), .int(after), .int(Int64(limit + 1))]
        ) { row in found.append((.init(row.int(), row.int()), row.int())) }
        let page = found.prefix(limit)
        let members = page.filter { $0.mark != mark }
        for member in members { note(member.key, mark: member.mark) }
        if after == 0, mark == nil, found.count <= limit { snapshot.wholeAudiences.insert(activity) }
        let users = members.map(\.key.user)
        for keys in try devices(of: Set(users)).values {
            for device in keys { wanted.phones.insert(.init(activity, device)) }
        }
        snapshot.audiencePages[.init(activity, after: after, besides: mark)] = Snapshot.AudiencePage(
            members: users, last: page.last?.key.user, isComplete: found.count <= limit)
    }

    mutating func note(_ key: Snapshot.MemberKey, mark: Int64) {
        snapshot.members[key.activity, default: []].insert(key.user)
        if mark != 0 { snapshot.memberMarks[key] = mark }
    }

    mutating func fetchIdempotency(_ keys: [SnapshotKey]) throws {
        var hashes: [BundleID: Set<[UInt8]>] = [:]
        for case .idempotency(let app, let hash) in keys { hashes[app, default: []].insert(hash) }
        for (app, list) in hashes {
            try sql.query(
                """
                SELECT \(IdempotencyRecord.list(of: "i")) FROM list(?) j CROSS JOIN idempotency i
                ON i.app = ? AND i.key_hash = j.value
                """, [.texts(list.map(IdempotencyRecord.text).sorted()), .text(app.text)]
            ) { row in
                let record = try IdempotencyRecord(&row)
                snapshot.idempotency[.init(app, record.hash)] = record
            }
        }
    }
}
