import APNSModel
package import JSONText

/// A checked content state, encoded for pushes, with its digest.
struct StateContent: Sendable {
    let encoded: EncodedObject
    let digest: UInt64
    /// Builds of the app that cannot decode the state.
    let unfit: [BuildRange]
    private let object: JSONObject

    /// Checks and encodes a state.
    ///
    /// - Throws: `ContractViolation` if the type has a contract that the state does not fit.
    init(_ state: JSONObject, from origin: Contract.Origin, type: ActivityType?) throws(ContractViolation) {
        object = try type?.contract?.encodedState(state, from: origin) ?? state
        encoded = EncodedObject(object)
        digest = ContentDigest.of(state: object, type?.contract)
        unfit = type?.unfitBuilds(state: object) ?? []
    }

    /// Returns `true` if a stored state has the same canonical form, regardless of key order and number format.
    func isSame(_ old: EncodedObject) -> Bool {
        (try? JSONValue(parsing: old.bytes))?.canonicalBytes == JSONValue.object(object).canonicalBytes
    }
}

/// Digest of content. Equal digests mean the same content, regardless of key order and number format. With a contract,
/// the digest covers what a phone that holds the content would report.
package enum ContentDigest {
    /// Returns the digest of an object, without a contract.
    package static func of(_ object: JSONObject) -> UInt64 {
        Digest.fnv1a(JSONValue.object(object).canonicalBytes)
    }

    /// Returns the digest of a content state in Swift's own form.
    static func of(state: JSONObject, _ contract: Contract?) -> UInt64 {
        of(contract?.heldState(state) ?? state)
    }

    /// Returns the digest of attributes in Swift's own form, without the server's tag.
    static func of(attributes: JSONObject, _ contract: Contract?) -> UInt64 {
        let plain = ActivityTag.untagged(attributes)
        return of(contract?.heldAttributes(plain) ?? plain)
    }
}

/// Number of bytes that one member of the content state or the attributes takes in a push, its name included.
package struct FieldSize: Sendable, Equatable {
    /// Maximum number of members that are listed.
    package static let maximum = 20

    package let part: Contract.Part
    package let name: String
    package let bytes: Int

    /// Returns the members, the largest first; none unless the payload was too large.
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
