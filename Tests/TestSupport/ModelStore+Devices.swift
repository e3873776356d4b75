import APNSModel
import LiveActivityCore

/// Rows of a device and of its person's activities that a call loads, in the reference store.
extension ModelStore {
    func loadDevice(_ device: DeviceKey, _ its: DeviceRows, _ part: inout Snapshot) {
        loadDevice(device, &part)
        for activity in activities(on: device, its, &part) {
            loadActivity(activity, &part)
            loadPhone(activity, device, &part)
        }
        for (tombstone, record) in rows.tombstones where tombstone.device == device {
            part.tombstones[tombstone] = record
        }
    }

    private func activities(
        on device: DeviceKey, _ its: DeviceRows, _ part: inout Snapshot
    ) -> Set<ActivityNumber> {
        let all = newest(on: device)
        guard all.count > DeviceRows.newest else { return Set(all) }
        part.devicesWithMore.insert(device)
        func card(_ activity: ActivityNumber) -> CardMachine? { rows.cards[.init(activity, device)] }
        let open = all.filter { number in
            card(number).map { $0.state == .requesting || $0.state.mayHaveCard } ?? false
        }
        let app = rows.devices[device]?.app
        let named = all.filter { number in
            card(number)?.localID.map(its.cards.contains) ?? false
                || rows.activities[number].map { $0.app == app && its.activities.contains($0.id) } ?? false
                || its.cards.contains { rows.tombstones[.init(device, $0)]?.activity == number }
        }
        let running = all.prefix(DeviceRows.examined).filter { rows.activities[$0]?.phase != .ended }
        return Set(all.prefix(DeviceRows.newest)).union(open.prefix(DeviceRows.open)).union(named)
            .union(its.withRunning ? running.prefix(DeviceRows.running) : [])
    }

    func loadPage(of device: DeviceKey, below: ActivityNumber, _ part: inout Snapshot) {
        loadDevice(device, &part)
        let rest = newest(on: device).filter { $0 < below }
        let page = rest.prefix(DevicePage.limit)
        for activity in page {
            loadActivity(activity, &part)
            loadPhone(activity, device, &part)
        }
        part.devicePages[.init(device, below: below)] = DevicePage(
            last: page.last, isComplete: rest.count <= DevicePage.limit)
    }

    private func newest(on device: DeviceKey) -> [ActivityNumber] {
        rows.cards.keys.filter { $0.device == device }.map(\.activity).sorted(by: >)
    }

    /// Loads the device without its tokens.
    func loadDeviceAlone(_ key: DeviceKey, _ part: inout Snapshot) {
        guard let device = rows.devices[key] else { return }
        part.devices[key] = device
        part.deviceKeys[.init(device.app, device.id)] = key
    }

    /// Loads the activities that a device joins when it signs in, and the rows of its person's other devices that
    /// decide this.
    func loadActivities(
        of id: UserID, in app: BundleID, _ joinable: JoinableActivities, _ part: inout Snapshot
    ) {
        guard let user = rows.users[.init(app, id)] else { return }
        part.users[.init(app, id)] = user
        let own = rows.deviceKeys[.init(app, joinable.device)]
        let others = recentDevices(of: user)
        for device in others { loadDeviceAlone(device, &part) }
        let candidates = activities(of: user, joinable).map { number in
            let row = own.flatMap { rows.cards[.init(number, $0)] }
            let looks = rows.activities[number].map { Audience.looksAtOthers($0.devices, row) } ?? false
            return JoinableActivities.Candidate(number, looksAtOthers: looks)
        }
        let pick = JoinableActivities.pick(candidates, others: others.count)
        for number in pick.taken {
            loadActivity(number, &part)
            part.members[number, default: []].insert(user)
            if let own { loadPhone(number, own, &part) }
        }
        guard !pick.withOthers.isEmpty else { return }
        for (token, record) in rows.deviceTokens where token.kind == .pushToStart && others.contains(token.device) {
            part.deviceTokens[token] = record
        }
        for number in pick.withOthers {
            for device in others {
                let key = Snapshot.PhoneKey(number, device)
                if part.cards[key] == nil { part.cards[key] = rows.cards[key] }
            }
        }
    }

    private func recentDevices(of user: UserNumber) -> [DeviceKey] {
        let all = rows.devices.values.filter { $0.user == user }.sorted { $0.key < $1.key }
        return RecentDevices.pick(all.prefix(RecentDevices.examined).map { (key: $0.key, contactAt: $0.contactAt) })
    }

    private func activities(of user: UserNumber, _ joinable: JoinableActivities) -> [ActivityNumber] {
        let all = rows.members.filter { $0.value.contains(user) }.map(\.key).sorted(by: >)
        let found = all.prefix(JoinableActivities.examined).filter { number in
            guard let activity = rows.activities[number] else { return false }
            switch activity.phase {
            case .active: return true
            case .announced: return false
            case .ended:
                return activity.endedAt.map { $0 > joinable.endedSince } ?? false
                    || joinable.reusableTypes.contains(activity.type)
            }
        }
        return Array(found.prefix(JoinableActivities.limit))
    }
}
