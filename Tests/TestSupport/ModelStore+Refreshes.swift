package import APNSModel
package import LiveActivityCore

/// Computed states of providers, in the reference store.
extension ModelStore {
    func loadRefreshes(_ key: SnapshotKey, _ part: inout Snapshot) {
        switch key {
        case .refreshes(let app, let users, let types):
            for user in users { loadRefreshes(app, user, types, &part) }
        case .memos(let app, let user, let type):
            guard let number = loadUser(app, user, &part) else { return }
            for (key, memo) in rows.memos where key.user == number && key.type == type { part.memos[key] = memo }
        case .provided(let app, let device, let owners, let types):
            let owner = rows.deviceKeys[.init(app, device)].flatMap { rows.devices[$0]?.userID }
            for user in owners + (owner.map { [$0] } ?? []) {
                loadRefreshes(app, user, types, &part)
                for type in types {
                    let id = ProvidedActivity.id(type: type, user: user, device: device)
                    guard let number = rows.activityNumbers[.init(app, id)] else { continue }
                    loadActivity(number, &part)
                    guard let key = rows.deviceKeys[.init(app, device)] else { continue }
                    loadPhone(number, key, &part)
                }
            }
        case .dueRefreshes(let due): loadDue(due, &part)
        default: break
        }
    }

    private func loadUser(_ app: BundleID, _ user: UserID, _ part: inout Snapshot) -> UserNumber? {
        let number = rows.users[.init(app, user)]
        if let number { part.users[.init(app, user)] = number }
        return number
    }

    private func loadRefreshes(_ app: BundleID, _ user: UserID, _ types: [String], _ part: inout Snapshot) {
        guard let number = loadUser(app, user, &part) else { return }
        for type in types {
            let key = RefreshKey(number, type)
            part.refreshes[key] = rows.refreshes[key]
        }
    }

    private func loadDue(_ due: DueRefreshes, _ part: inout Snapshot) {
        var keys = rows.refreshes.values.filter { $0.node.map { $0 != due.node } ?? false }.map(\.key).sorted()
        keys = Array(keys.prefix(DueRefreshes.maximumAbandoned))
        for want in due.wants {
            for (pace, limit) in [(RefreshRecord.Pace.prompt, want.limit), (.paced, min(want.limit, want.paced))]
            where limit > 0 {
                let found = rows.refreshes.values.filter { record in
                    record.app == want.app && record.type == want.type && record.pace == pace
                        && record.dueAt.map { $0 <= due.at } ?? false
                }.sorted { ($0.dueAt ?? due.at, $0.user) < ($1.dueAt ?? due.at, $1.user) }
                keys += found.prefix(limit).map(\.key)
            }
        }
        for key in keys where !part.dueRefreshes.contains(key) {
            part.dueRefreshes.append(key)
            part.refreshes[key] = rows.refreshes[key]
            for device in rows.devices.values where device.user == key.user { loadDevice(device.key, &part) }
            for (memo, record) in rows.memos where memo.user == key.user && memo.type == key.type {
                part.memos[memo] = record
            }
        }
    }

    /// Returns the next instant at which a computation of a type is due.
    package func refreshTime(of app: BundleID, _ type: String, _ pace: RefreshRecord.Pace) -> UnixTime? {
        rows.refreshes.values.filter { $0.app == app && $0.type == type && $0.pace == pace }.compactMap(\.dueAt).min()
    }
}
