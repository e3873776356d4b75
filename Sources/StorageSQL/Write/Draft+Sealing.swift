import APNSModel
import LiveActivityCore

extension Draft {
    /// Seals and writes the device tokens that a group changed.
    func writeDeviceTokens(_ sql: Statements) throws {
        let records = changes.deviceTokens.sorted().compactMap { snapshot.deviceTokens[$0] }
        guard !records.isEmpty else { return }
        let apps = try apps(of: Set(records.map(\.device)), sql)
        try sql.write(
            records.map { try DeviceTokenRow(sealing: $0, app: apps[$0.device] ?? "", sql.sealing) })
    }

    /// Seals and writes the update tokens that a group changed.
    func writeUpdateTokens(_ sql: Statements) throws {
        let records = changes.updateTokens.sorted().compactMap { snapshot.updateTokens[$0] }
        guard !records.isEmpty else { return }
        let apps = try apps(of: Set(records.map(\.device)), sql)
        try sql.write(
            records.map { try UpdateTokenRow(sealing: $0, app: apps[$0.device] ?? "", sql.sealing) })
    }

    /// Writes the owners of tokens.
    ///
    /// During a change of the look-up key, a value may still have a row under the earlier key. That row is deleted.
    func writeOwners(_ sql: Statements) throws {
        let records = changes.owners.compactMap { snapshot.owners[$0] }
        guard !records.isEmpty else { return }
        let earlier = try sql.sealing.earlierHashes(of: records.map(\.key))
        try sql.delete("DELETE FROM token_owner WHERE hash IN (SELECT value FROM list(?))", .texts(earlier))
        try sql.write(
            try records.map { try TokenOwnerRow(sealing: $0, sql.sealing) }.sorted { $0.hash < $1.hash })
    }

    /// Records the time since which no row holds a value.
    ///
    /// Values that another device holds by now, or that are dead, are not changed.
    func writeReleases(_ sql: Statements) throws {
        guard !changes.releases.isEmpty else { return }
        var rows: [(Int64, String, Int64?, Int64?)] = []
        for (release, time) in changes.releases {
            for hash in try sql.sealing.hashes(of: [release.value]).keys {
                rows.append((release.device, hash, release.activity, time.milliseconds))
            }
        }
        try sql.run(
            """
            UPDATE token_owner SET released_at = j.d FROM tuples(?) j
            WHERE hash = j.b AND dk = j.a AND activity = coalesce(j.c, activity) AND dead_at IS NULL
            """, [.tuples(rows.sorted { ($0.1, $0.0) < ($1.1, $1.0) })])
    }

    /// Returns the apps of devices: most from the snapshot, and the remaining ones by a query.
    private func apps(of devices: Set<DeviceKey>, _ sql: Statements) throws -> [DeviceKey: String] {
        var apps: [DeviceKey: String] = [:]
        var unknown: [DeviceKey] = []
        for device in devices {
            if let record = snapshot.devices[device] { apps[device] = record.app.text } else { unknown.append(device) }
        }
        guard !unknown.isEmpty else { return apps }
        try sql.query(
            "SELECT dk, app FROM device WHERE dk IN (SELECT value FROM list(?))",
            [.list(unknown.sorted())]
        ) { row in apps[row.int()] = row.text() }
        return apps
    }
}
