import APNSModel
package import JSONText

extension StoredEvent {
    /// The event as it is told, in a stream and to webhooks alike: `docs/webhooks.md` has the table.
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

    /// What a receiver tells repeats by: the same each time that this event is sent, and of no other event, in a
    /// database that was restored from a backup either, which gives the numbers after it once more.
    package var messageID: String {
        "evt_\(number)_\(String(record.at.milliseconds, radix: 36))"
    }
}

extension UnixTime {
    /// RFC 3339 in UTC, with three decimals where there is a fraction of a second.
    fileprivate var text: String {
        let fraction = milliseconds - seconds * 1000
        guard fraction > 0 else { return description }
        let digits = String(fraction)
        return description.dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
    }
}
