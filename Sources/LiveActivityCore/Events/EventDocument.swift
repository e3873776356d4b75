import APNSModel
package import JSONText

extension StoredEvent {
    /// JSON document of the event, for streams and webhooks alike. `docs/webhooks.md` has the table.
    package var document: JSONObject {
        var object: JSONObject = [
            "id": .string(String(number)), "type": .string(record.kind.name),
            "timestamp": .string(record.at.text), "app": .string(record.app.text),
        ]
        object["activity"] = activity.map { .string($0.text) }
        object["run"] = record.run.map { .number(JSONNumber($0)) }
        object["revision"] = record.revision.map { .number(JSONNumber(Int($0))) }
        object["device"] = device.map { .string($0.text) }
        object["reason"] = record.reason.map { .string($0.rawValue) }
        if let subject = record.subject {
            object[subject.isToken ? "token" : "environment"] = .string(subject.rawValue)
        }
        return object
    }

    /// Id by which a receiver deduplicates. It is the same each time this event is sent, and no other event has it.
    ///
    /// A database restored from a backup assigns event numbers again. The id stays unique because it also contains the
    /// time.
    package var messageID: String {
        "evt_\(number)_\(String(record.at.milliseconds, radix: 36))"
    }
}

extension UnixTime {
    /// RFC 3339 time in UTC, with three decimals if it has a fraction of a second.
    fileprivate var text: String {
        let fraction = milliseconds - seconds * 1000
        guard fraction > 0 else { return description }
        let digits = String(fraction)
        return description.dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
    }
}
