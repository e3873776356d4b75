package import JSONText
internal import LiveActivityAPI

// Reading of a memory that another version of the app has written. The app may have been updated, or replaced by an
// earlier version.
extension RegistrationMemory {
    /// Reads what some version of the app saved. Members that are missing get their first value. Members that cannot be
    /// read are dropped, and nothing else is.
    ///
    /// - Returns: `nil` if the value does not even name its device.
    package init?(kept: JSONValue) {
        guard var members = kept.object, let device = members["device"]?.string else { return nil }
        if let cards = members["cards"]?.object {
            var readable: JSONObject = [:]
            for (localID, card) in cards { readable[localID] = CardMemory.readable(card) }
            members["cards"] = .object(readable)
        }
        guard let memory = Kept.read(members, over: RegistrationMemory(device: device)) else { return nil }
        self = memory
    }
}

extension CardMemory {
    /// Returns a card with every member, or `nil` if the value does not say which card it is.
    fileprivate static func readable(_ kept: JSONValue) -> JSONValue? {
        guard let members = kept.object, let type = members["type"]?.string, let number = members["number"]?.int,
            let seenAt = members["seenAt"]?.int
        else { return nil }
        let first = CardMemory(type: type, state: .active, number: number, seenAt: seenAt)
        return Kept.read(members, over: first).flatMap { try? JSONValue(encoding: $0) }
    }
}

private enum Kept {
    /// Decodes all members at once over the first values. If that fails, it decodes each member that can be read by
    /// itself.
    static func read<Value: Codable>(_ members: JSONObject, over first: Value) -> Value? {
        guard var object = (try? JSONValue(encoding: first))?.object else { return nil }
        if let value: Value = decoded(object.replacing(members)) { return value }
        for (key, value) in members {
            let next = object.replacing([key: value])
            if let _: Value = decoded(next) { object = next }
        }
        return decoded(object)
    }

    private static func decoded<Value: Decodable>(_ object: JSONObject) -> Value? {
        try? JSONValue.object(object).decode(Value.self)
    }
}

extension JSONObject {
    fileprivate func replacing(_ members: JSONObject) -> JSONObject {
        members.reduce(into: self) { object, member in object[member.key] = member.value }
    }
}
