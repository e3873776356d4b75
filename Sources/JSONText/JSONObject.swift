/// The members of a JSON object in the order in which they were written. Each key occurs once.
///
/// Two objects are equal if they have the same members in any order (RFC 8259 section 4). Keys are compared byte by
/// byte. A lookup takes constant time; removing a member takes linear time.
public struct JSONObject: Sendable, Sequence, ExpressibleByDictionaryLiteral {
    /// One member.
    public typealias Element = (key: String, value: JSONValue)

    /// Number of members up to which a scan is faster than hashing and avoids a second copy of the keys.
    private static let scanned = 8

    private var members: [Element] = []
    /// Position of each key; empty while the object is small enough to scan.
    private var positions: [ExactText: Int] = [:]

    /// Creates an object without members.
    public init() {}

    /// Creates an object with these members in this order. If a key occurs more than once, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }

    /// Number of members.
    public var count: Int { members.count }
    /// A Boolean value that indicates whether the object has no members.
    public var isEmpty: Bool { members.isEmpty }
    /// Keys in the order in which the members were written.
    public var keys: [String] { members.map(\.key) }

    /// The value of the member with this key, or `nil` if there is none. A JSON `null` is `.null`, not `nil`.
    ///
    /// Setting a value keeps the place of an existing member and appends a new one. Setting `nil` removes the member.
    public subscript(key: String) -> JSONValue? {
        get { position(of: key).map { members[$0].value } }
        set {
            switch (position(of: key), newValue) {
            case (let position?, let value?): members[position].value = value
            case (nil, let value?): append(key, value)
            case (let position?, nil): remove(at: position)
            case (nil, nil): break
            }
        }
    }

    /// Returns an iterator over the members in the order in which they were written.
    public func makeIterator() -> IndexingIterator<[Element]> { members.makeIterator() }

    /// Appends a member. The caller guarantees that the key is new.
    mutating func append(_ key: String, _ value: JSONValue) {
        members.append((key, value))
        if !positions.isEmpty {
            positions[ExactText(key)] = members.count - 1
        } else if members.count > Self.scanned {
            indexMembers()
        }
    }

    func position(of key: String) -> Int? {
        let wanted = ExactText(key)
        guard positions.isEmpty else { return positions[wanted] }
        return members.firstIndex { ExactText($0.key) == wanted }
    }

    func value(at position: Int) -> JSONValue { members[position].value }

    private mutating func remove(at position: Int) {
        members.remove(at: position)
        positions = [:]
        if members.count > Self.scanned { indexMembers() }
    }

    private mutating func indexMembers() {
        positions.reserveCapacity(members.count)
        for (position, member) in members.enumerated() { positions[ExactText(member.key)] = position }
    }
}

extension JSONObject: Hashable {
    /// Returns `true` if both objects have the same members, in any order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.members.allSatisfy { right[$0.key] == $0.value }
    }

    /// Hashes the members without their order.
    public func hash(into hasher: inout Hasher) {
        // The order of members must not affect the hash, because it does not affect equality. A sum has no order.
        var sum = 0
        for (key, value) in members {
            var member = Hasher()
            member.combine(ExactText(key))
            member.combine(value)
            sum &+= member.finalize()
        }
        hasher.combine(sum)
    }
}

extension JSONObject: CustomStringConvertible {
    /// The object as compact JSON text.
    public var description: String { JSONValue.object(self).text }
}
