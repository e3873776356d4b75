package import JSONText

/// The member of a card's attributes that names its activity: an attribute that the type names, or the tag `islet` that
/// the server adds.
package enum ActivityTag {
    package static let member = "islet"

    /// Returns the attributes with the activity's id in place.
    ///
    /// - Throws: `Refusal.activityIDConflict` if the attribute holds another id, or cannot hold this one.
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

    /// Returns tagged attributes, checked and encoded by the contract. The tag itself is not checked, unless the
    /// contract declares it.
    ///
    /// - Throws: `ContractViolation` if the attributes do not fit the contract.
    static func encoded(_ tagged: JSONObject, by contract: Contract) throws(ContractViolation) -> JSONObject {
        guard !contract.declares(attribute: member), let tag = tagged[member] else {
            return try contract.encodedAttributes(tagged)
        }
        var encoded = try contract.encodedAttributes(untagged(tagged))
        encoded[member] = tag
        return encoded
    }

    /// Returns the attributes without the tag, as an app reports them whose type has no member for it.
    package static func untagged(_ attributes: JSONObject) -> JSONObject {
        var plain = attributes
        plain[member] = nil
        return plain
    }

    /// Returns the activity that reported attributes name; `nil` if they name none.
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

    /// Compares a `String` as it is, an `Int` by its digits, and a UUID regardless of case.
    private static func matches(_ value: JSONValue, _ id: ActivityID) -> Bool {
        switch value {
        case .string(let text): ActivityID(stored: text) == id
        case .number(let number): number.canonicalText == id.text
        default: false
        }
    }
}
