import APNSModel
import LiveActivityCore

/// What a call sees of a device and of its person's activities, as the reference store knows it.
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
        func instance(_ activity: ActivityNumber) -> InstanceRecord? { rows.instances[.init(activity, device)] }
        let open = all.filter { number in
            instance(number).map { $0.state == .requesting || $0.state.mayHaveCard } ?? false
        }
        let app = rows.devices[device]?.app
        let named = all.filter { number in
            instance(number)?.localID.map(its.cards.contains) ?? false
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
        rows.instances.keys.filter { $0.device == device }.map(\.activity).sorted(by: >)
    }

    func activities(of user: UserNumber, _ joinable: JoinableActivities) -> [ActivityNumber] {
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
