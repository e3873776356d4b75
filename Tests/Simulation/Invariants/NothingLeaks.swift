import APNSModel
import LiveActivityCore
import TestSupport

/// **Nothing leaks.** No log, error, metric, event, page or backup listing holds more than the first 8 characters of
/// a token, key or secret.
///
/// In a history, the rule checks each line that a process logs, at every level, and everything that timelines keep.
final class NothingLeaks: Invariant {
    private static let changes: Set<HistoryEntry.Kind> = [.stateSet, .ended, .reopened]

    func see(_ event: Observation, in world: World) {
        switch event {
        case .logged(let line): check(line, "the log", world)
        case .atRest:
            for record in world.store.history {
                for entry in record.entries {
                    for reason in [entry.reason, entry.outcome] where reason != nil {
                        check(reason?.text ?? "", "a timeline", world)
                    }
                    // A timeline keeps the state that a change set, for readers who have permission.
                    let isChange = entry.device == nil && Self.changes.contains(entry.kind)
                    check(entry.detail, "a timeline", world, mayHoldContent: isChange)
                }
            }
        default: break
        }
    }

    private func check(_ text: String, _ place: String, _ world: World, mayHoldContent: Bool = false) {
        let bytes = Array(text.utf8)
        if !mayHoldContent, Self.holds(bytes, Array(Scenery.secret.utf8)) {
            world.violate(.nothingLeaks, "\(place) holds a content state")
        }
        // Nine hexadecimal digits in a row that belong to a token.
        var run = 0
        for (index, byte) in bytes.enumerated() {
            let isDigit = (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            run = isDigit ? run + 1 : 0
            guard run == 9 else { continue }
            let start = String(decoding: bytes[(index - 8)...index], as: UTF8.self)
            if world.apns.tokens.keys.contains(where: { $0.hasPrefix(start) }) {
                world.violate(.nothingLeaks, "\(place) holds more than 8 characters of a token")
            }
        }
    }

    private static func holds(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
        guard let first = word.first, bytes.count >= word.count else { return false }
        for index in 0...(bytes.count - word.count) where bytes[index] == first {
            if bytes[index..<(index + word.count)].elementsEqual(word) { return true }
        }
        return false
    }
}
