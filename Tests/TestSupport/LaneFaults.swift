package import LiveActivityCore

extension Snapshot {
    /// Faults of the lanes among all rows, in words: gaps between ranges, counts that differ from the phones',
    /// positions outside the range. Empty if there is none.
    package var laneFaults: [String] {
        var faults: [String] = []
        for (number, lanes) in lanes {
            let ends = lanes.map(\.toDevice)
            if lanes.map(\.fromDevice) != [0] + ends.dropLast() || ends.last != .max {
                faults.append("the lanes of \(number) leave gaps: \(lanes.map(\.fromDevice)), \(ends)")
            }
            for lane in lanes {
                let range = lane.fromDevice...lane.toDevice
                if !range.contains(lane.position) || !range.contains(lane.stop) {
                    faults.append("\(lane.key) stands outside its range: \(lane.position), \(lane.stop)")
                }
                var counts = LaneCounts()
                // An unfinished lap looks at every phone, and a flight is looked at when it is settled or rescued.
                let isToLook = lane.isLapDone && lane.flight == nil
                for (key, card) in cards
                where key.activity == number && (lane.fromDevice..<lane.toDevice).contains(key.device) {
                    counts.count(card.state, 1)
                    if card.subscription != nil, card.run == lane.channelRun { counts.onChannel += 1 }
                    if isToLook, let time = card.lookAt, lane.lookAt.map({ time < $0 }) ?? true {
                        faults.append(
                            "\(lane.key) looks at \(key.device) at \(lane.lookAt, default: "no time"), not \(time)")
                    }
                }
                if counts != lane.counts { faults.append("\(lane.key) counts \(lane.counts), not \(counts)") }
            }
        }
        return faults
    }
}
