package import JSONText

/// How a card says which activity it is: by an attribute that the type names, or by the tag `islet` that the server
/// adds.
package enum ActivityTag {
    package static let member = "islet"

    /// The attributes with the activity's id in place.
    ///
    /// - Throws: `Refusal.activityIDConflict` when the attribute holds another id.
    package static func fill(_ attributes: JSONObject, type: ActivityType, id: ActivityID) throws(Refusal) -> JSONObject
    {
        guard let pointer = type.activityIDAttribute else {
            var tagged = attributes
            tagged[member] = .object(["activity": .string(id.text)])
            return tagged
        }
        var value = JSONValue.object(attributes)
        if let present = value[pointer] {
            guard matches(present, id) else { throw .activityIDConflict(pointer: pointer.description) }
            return attributes
        }
        var named = JSONValue.string(id.text)
        if type.contract?.holdsInteger(at: pointer) == true {
            guard let number = JSONNumber(id.text), number.int != nil else {
                throw .activityIDConflict(pointer: pointer.description)
            }
            named = .number(number)
        }
        do throws(JSONPointerError) {
            try value.set(named, at: pointer)
        } catch {
            throw .activityIDConflict(pointer: pointer.description)
        }
        return value.object ?? attributes
    }

    /// Attributes with the activity's id in place, checked. The tag is none of the contract's business, unless the
    /// contract has a place for it.
    static func encoded(_ tagged: JSONObject, by contract: Contract) throws(ContractViolation) -> JSONObject {
        guard !contract.declares(attribute: member), let tag = tagged[member] else {
            return try contract.encodedAttributes(tagged)
        }
        var encoded = try contract.encodedAttributes(untagged(tagged))
        encoded[member] = tag
        return encoded
    }

    /// The attributes as the app itself knows them: a type that has no member for the tag drops it.
    package static func untagged(_ attributes: JSONObject) -> JSONObject {
        var plain = attributes
        plain[member] = nil
        return plain
    }

    /// The activity that reported attributes name.
    package static func activity(in attributes: JSONObject, type: ActivityType) -> ActivityID? {
        let value = JSONValue.object(attributes)
        let named: JSONValue? =
            if let pointer = type.activityIDAttribute { value[pointer] } else {
                attributes[member]?.object?["activity"]
            }
        switch named {
        case .string(let text): return try? ActivityID(text)
        case .number(let number): return try? ActivityID(number.canonicalText)
        default: return nil
        }
    }

    /// A String as it is, an Int by its digits, a UUID in either case.
    private static func matches(_ value: JSONValue, _ id: ActivityID) -> Bool {
        switch value {
        case .string(let text): ActivityID(stored: text) == id
        case .number(let number): number.canonicalText == id.text
        default: false
        }
    }
}
