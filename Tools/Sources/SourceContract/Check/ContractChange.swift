package import JSONText

/// A breaking difference between two contracts.
package struct ContractChange: Sendable, Hashable, CustomStringConvertible {
    package enum Victim: String, Sendable, Hashable {
        /// Installed builds of the app receive states and attributes of the new contract.
        case olderBuilds = "older app builds"
        /// Cards that run during the app's update hold states and attributes of the old contract.
        case runningActivities = "running activities"
    }

    package let victim: Victim
    /// The place of the difference, such as `/contentState/eta`.
    package let pointer: JSONPointer
    package let problem: String

    package var description: String { "\(pointer): breaks \(victim.rawValue): \(problem)" }
}

/// Compares two contracts of one activity type.
package enum ContractComparison {
    /// Returns the differences that break when an app with the new contract replaces one with the old.
    package static func changes(from old: JSONValue, to new: JSONValue) -> [ContractChange] {
        var changes: [ContractChange] = []
        let names = (old.object?["attributesType"], new.object?["attributesType"])
        if names.0 != names.1 {
            let problem =
                "it was \(names.0?.text ?? "missing"); a push names the type, and each app knows its own alone"
            for victim in [ContractChange.Victim.olderBuilds, .runningActivities] {
                changes.append(
                    ContractChange(victim: victim, pointer: JSONPointer(tokens: ["attributesType"]), problem: problem))
            }
        }
        for part in ["attributes", "contentState"] {
            guard let before = old.object?[part], let after = new.object?[part] else { continue }
            let readers = [
                (ContractChange.Victim.olderBuilds, SchemaReading(reader: before, writer: after, isNewWriter: true)),
                (.runningActivities, SchemaReading(reader: after, writer: before, isNewWriter: false)),
            ]
            for (victim, reading) in readers {
                var reading = reading
                changes += reading.problems(at: part).map {
                    ContractChange(victim: victim, pointer: $0.pointer, problem: $0.words)
                }
            }
        }
        return changes
    }
}
