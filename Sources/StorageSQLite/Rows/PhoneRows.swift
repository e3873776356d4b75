import APNSModel
import GRDB
import LiveActivityCore

extension DeviceRecord {
    init(_ row: Row) throws {
        self.init(
            key: row["dk"], app: try decodeBundleID(row["app"], "device"), id: DeviceID(stored: row["id"]),
            user: row["user"], userID: UserID(stored: row["user_id"]), at: row["created_at"])
        platform = row["platform"]
        timeZone = row["time_zone"]
        locale = row["locale"]
        osVersion = try (row["os_version"] as String?).map { text in
            guard let version = OSVersion(text) else { throw DamagedRow(table: "device", column: "os_version") }
            return version
        }
        appVersion = row["app_version"]
        build = row["build"]
        model = row["model"]
        environment = try decodeCase(ifPresent: row["env"], "device", "env")
        activitiesEnabled = row["activities_enabled"]
        frequentPushesEnabled = row["frequent_pushes"]
        notificationAuthorization = row["authorization"]
        inventorySequence = row["inventory"]
        contactAt = row["contact_at"]
        signedOutAt = row["signed_out_at"]
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO device (dk, app, id, user, user_id, platform, time_zone, locale, os_version,
                    app_version, build, model, env, activities_enabled, frequent_pushes, authorization, inventory,
                    created_at, contact_at, signed_out_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            key, app.text, id.text, user, userID.text, platform, timeZone, locale, osVersion?.description, appVersion,
            build, model, environment?.rawValue, activitiesEnabled, frequentPushesEnabled, notificationAuthorization,
            inventorySequence, createdAt, contactAt, signedOutAt,
        ])
    }
}

extension InstanceRecord {
    init(_ row: Row) throws {
        self.init(activity: row["activity"], device: row["dk"], run: row["run"], at: row["created_at"])
        state = try decodeCase(row["state"], "instance", "state")
        sentRevision = row["sent_rev"]
        shownRevision = row["shown_rev"]
        timestamp = row["ts"]
        alertedRevision = row["alerted_rev"]
        tokenGeneration = row["token_gen"]
        tries = row["tries"]
        dueAt = row["due_at"]
        parkedRevision = row["parked_rev"]
        localID = (row["local_id"] as String?).map(LocalID.init(stored:))
        startedAt = row["started_at"]
        startExpiresAt = row["start_expires_at"]
        lastHighAt = row["high_at"]
        contradictions = row["contradictions"]
        let flags: Int = row["flags"]
        isWanted = flags & 1 != 0
        mayStart = flags & 2 != 0
        stateBeforeRequest = try decodeCase(flags >> 2, "instance", "flags")
        guard let kind: Int = row["last_kind"] else { return }
        guard let at: UnixTime = row["last_at"], let revision: Revision = row["last_rev"],
            let status: Int = row["last_status"]
        else { throw DamagedRow(table: "instance", column: "last_at") }
        last = LastDelivery(
            kind: try decodeCase(kind, "instance", "last_kind"), at: at, revision: revision, status: status,
            reason: try decodeReason(row["last_reason"], "instance", "last_reason") ?? Reason(.accepted))
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO instance (activity, dk, run, state, sent_rev, shown_rev, ts, alerted_rev,
                    token_gen, tries, due_at, parked_rev, local_id, created_at, started_at, start_expires_at, high_at,
                    contradictions, flags, last_kind, last_at, last_rev, last_status, last_reason)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        // "Accepted" is nearly always the reason, and is not worth its bytes in every row.
        let reason = last.flatMap { $0.reason == Reason(.accepted) ? nil : $0.reason.stored }
        try statement.execute(arguments: [
            activity, device, run, state.rawValue, sentRevision, shownRevision, timestamp, alertedRevision,
            tokenGeneration, tries, dueAt, parkedRevision, localID?.text, createdAt, startedAt, startExpiresAt,
            lastHighAt, contradictions, (isWanted ? 1 : 0) | (mayStart ? 2 : 0) | stateBeforeRequest.rawValue << 2,
            last?.kind.rawValue, last?.at,
            last?.revision, last?.status, reason,
        ])
    }
}

extension TombstoneRecord {
    init(_ row: Row) throws {
        self.init(
            device: row["dk"], localID: LocalID(stored: row["local_id"]), activity: row["activity"],
            state: try decodeCase(row["state"], "tombstone", "state"), at: row["at"])
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO tombstone (dk, local_id, activity, state, at) VALUES (?, ?, ?, ?, ?)")
        try statement.execute(arguments: [device, localID.text, activity, state.rawValue, at])
    }
}
