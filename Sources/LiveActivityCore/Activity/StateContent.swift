import APNSModel
package import JSONText

/// A content state that was checked: as it is sent, and what it is recognised by.
struct StateContent: Sendable {
    let encoded: EncodedObject
    let digest: UInt64
    /// The builds of the app that could not decode it.
    let unfit: [BuildRange]
    private let object: JSONObject

    /// - Throws: `ContractViolation` for a state that does not fit the contract, if there is one.
    init(_ state: JSONObject, from origin: Contract.Origin, type: ActivityType?) throws(ContractViolation) {
        object = try type?.contract?.encodedState(state, from: origin) ?? state
        encoded = EncodedObject(object)
        digest = ContentDigest.of(state: object, type?.contract)
        unfit = type?.unfitBuilds(state: object) ?? []
    }

    /// Whether a stored state is this one, whatever the order of keys and the form of numbers.
    func isSame(_ old: EncodedObject) -> Bool {
        (try? JSONValue(parsing: old.bytes))?.canonicalBytes == JSONValue.object(object).canonicalBytes
    }
}

/// What "the same content" means: the canonical form, whatever the order of keys and the form of numbers; and with a
/// contract, what a phone that holds the content would report of it.
package enum ContentDigest {
    package static func of(_ object: JSONObject) -> UInt64 {
        Digest.fnv1a(JSONValue.object(object).canonicalBytes)
    }

    /// Of a content state in Swift's own form.
    static func of(state: JSONObject, _ contract: Contract?) -> UInt64 {
        of(contract?.heldState(state) ?? state)
    }

    /// Of attributes in Swift's own form, without the server's tag.
    static func of(attributes: JSONObject, _ contract: Contract?) -> UInt64 {
        let plain = ActivityTag.untagged(attributes)
        return of(contract?.heldAttributes(plain) ?? plain)
    }
}

/// How many bytes of a push one member of the content state or the attributes takes, its name included.
package struct FieldSize: Sendable, Equatable {
    /// The most that are listed.
    package static let maximum = 20

    package let part: Contract.Part
    package let name: String
    package let bytes: Int

    /// The members, the largest first; none unless the payload was too large.
    static func list(_ error: PayloadError, state: EncodedObject, attributes: EncodedObject?) -> [FieldSize] {
        guard case .tooLarge = error else { return [] }
        let parts: [(Contract.Part, EncodedObject?)] = [(.contentState, state), (.attributes, attributes)]
        var sizes: [FieldSize] = []
        for (part, object) in parts {
            guard let object, let members = (try? JSONValue(parsing: object.bytes))?.object else { continue }
            for (name, value) in members {
                let bytes = JSONValue.string(name).bytes.count + 1 + value.bytes.count
                sizes.append(FieldSize(part: part, name: name, bytes: bytes))
            }
        }
        return Array(sizes.sorted { $0.bytes > $1.bytes }.prefix(maximum))
    }
}
