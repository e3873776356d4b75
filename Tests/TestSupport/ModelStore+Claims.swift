import APNSModel
import LiveActivityCore

// What a claim loads: the lanes that are due, and a page of phones of each.
extension ModelStore {
    func loadDue(_ due: DueLanes, _ part: inout Snapshot) {
        findLanes(due, &part)
        for key in part.due { loadActivity(key.activity, &part) }
        for number in part.woken { loadActivity(number, &part) }
        loadPages(part.due, due, &part)
    }

    /// Loads the pages of lanes. The lanes and their activities are loaded.
    func loadPages(_ keys: [LaneKey], _ due: DueLanes, _ part: inout Snapshot) {
        var room = due.phones
        var roomOf: [ActivityNumber: Int] = [:]
        for key in keys {
            guard let lane = part.lane(key), let activity = part.activities[key.activity] else { continue }
            let devices = rows.cards.keys.filter { $0.activity == key.activity }.map(\.device).sorted()
            var page: Snapshot.Page?
            if let flight = lane.flight {
                guard lane.isAbandoned(now: due.at, node: due.node) else { continue }
                let range = flight.fromDevice...flight.toDevice
                page = .init(
                    devices: devices.filter { flight.devices?.contains($0) ?? range.contains($0) }, isComplete: true)
            } else if lane.shouldSplit(lanes: rows.lanes[key.activity]?.count ?? 0, due.width) {
                part.lowerHalves[key] = counts(
                    key.activity, lane.fromDevice..<lane.middle, onChannelsOf: lane.channelRun)
            } else if !lane.isBackingOff(now: due.at) {
                let limit = min(room, due.phonesOfLane, roomOf[key.activity] ?? due.room(of: key.activity))
                guard limit > 0 else { continue }
                page = self.page(of: lane, activity, devices, at: due.at, limit: limit)
                roomOf[key.activity] = (roomOf[key.activity] ?? due.room(of: key.activity)) - (page?.devices.count ?? 0)
            }
            guard let page else { continue }
            part.pages[key] = page
            let isCounted = due.counting[activity.app]?.contains(activity.type) == true
            for device in page.devices {
                loadSituation(key.activity, device, &part)
                if isCounted { loadCards(on: device, for: activity, &part) }
            }
            room -= page.devices.count
        }
    }

    private func findLanes(_ due: DueLanes, _ part: inout Snapshot) {
        let all = rows.lanes.values.joined()
        part.due = all.filter { lane in lane.flight.map { $0.node != due.node } ?? false }.map(\.key).sorted()
        part.due = Array(part.due.prefix(due.lanes))
        typealias Candidate = (at: UnixTime, activity: ActivityNumber, lane: DeviceKey?)
        func earliest(_ list: [Candidate]) -> ArraySlice<Candidate> {
            list.filter { $0.at <= due.at }.sorted { left, right in
                (left.at, left.activity, left.lane ?? -1) < (right.at, right.activity, right.lane ?? -1)
            }.prefix(due.lanes)
        }
        let lanes = earliest(all.compactMap { lane in lane.nextAt.map { ($0, lane.activity, lane.fromDevice) } })
        let woken = earliest(rows.activities.values.compactMap { one in one.wakeAt.map { ($0, one.number, nil) } })
        var ready: [Candidate] = []
        for (condition, room) in due.rooms(for: laneConditions, besides: lanes.count + woken.count) {
            let waiting = all.filter { $0.waitsFor == condition }.sorted { $0.key < $1.key }
            ready += waiting.prefix(room).map { (due.at, $0.activity, $0.fromDevice) }
        }
        let byTime = (lanes + woken).sorted { left, right in
            (left.at, left.activity, left.lane ?? -1) < (right.at, right.activity, right.lane ?? -1)
        }
        var turns = DueLanes.Turns(ready, byTime)
        var taken = Set(part.due)
        while let candidate = turns.next() {
            guard let activity = rows.activities[candidate.activity] else { continue }
            let lanes = (rows.lanes[candidate.activity] ?? []).filter { lane in
                guard candidate.lane == nil else { return lane.fromDevice == candidate.lane }
                return lane.page(for: activity, at: due.at) != .due
                    && lane.flight == nil
                    && !lane.isBackingOff(now: due.at)
            }
            let new = lanes.map(\.key).filter { !taken.contains($0) }
            guard part.due.isEmpty || part.due.count + new.count <= due.lanes else { break }
            if candidate.lane == nil { part.woken.append(candidate.activity) }
            part.due += new
            if !new.isEmpty { turns.pass() }
            taken.formUnion(new)
        }
    }

    private func counts(_ activity: ActivityNumber, _ range: Range<DeviceKey>, onChannelsOf run: Int) -> LaneCounts {
        var counts = LaneCounts()
        for (key, card) in rows.cards where key.activity == activity && range.contains(key.device) {
            counts.count(card.state, 1)
            if card.subscription != nil, card.run == run { counts.onChannel += 1 }
        }
        return counts
    }

    private func page(
        of lane: LaneRecord, _ activity: ActivityRecord, _ devices: [DeviceKey], at time: UnixTime, limit: Int
    ) -> Snapshot.Page {
        switch lane.page(for: activity, at: time) {
        case .lap(let stretches):
            let concerned = devices.filter { device in
                !(rows.cards[.init(lane.activity, device)]?.isPassedOver(in: activity, at: time) ?? false)
            }
            let all = stretches.flatMap { stretch in concerned.filter(stretch.contains) }
            return .init(devices: Array(all.prefix(limit)), isComplete: all.count <= limit)
        case .due:
            let own = devices.filter { (lane.fromDevice..<lane.toDevice).contains($0) }
            let looks = own.compactMap { device in
                rows.cards[.init(lane.activity, device)]?.lookAt.map { (device: device, at: $0) }
            }
            let all = looks.filter { $0.at <= time }.map(\.device)
            return .init(
                devices: Array(all.prefix(limit)), isComplete: all.count <= limit,
                nextLookAt: looks.map(\.at).filter { $0 > time }.min())
        }
    }
}
