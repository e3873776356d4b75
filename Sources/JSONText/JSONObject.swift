/// The members of a JSON object in the order in which they were written, each key once.
///
/// Two objects are equal when they have the same members in any order (RFC 8259 section 4). Keys are compared byte by
/// byte. Finding a member takes constant time however many there are; removing one takes linear time.
public struct JSONObject: Sendable, Sequence, ExpressibleByDictionaryLiteral {
    /// One member.
    public typealias Element = (key: String, value: JSONValue)

    /// Below this many members a scan is faster than hashing and needs no second copy of the keys.
    private static let scanned = 8

    private var members: [Element] = []
    /// Where each key is; empty while the object is small enough to scan.
    private var positions: [ExactText: Int] = [:]

    /// An object without members.
    public init() {}

    /// An object with these members in this order; of several with the same key the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }

    /// The number of members.
    public var count: Int { members.count }
    /// Whether there is no member.
    public var isEmpty: Bool { members.isEmpty }
    /// The keys in the order in which the members were written.
    public var keys: [String] { members.map(\.key) }

    /// The value of the member with this key, or nil when there is none; a JSON `null` is `.null`, not nil.
    ///
    /// Storing a value keeps the place of a member that exists and appends one that does not; storing nil removes it.
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

    /// The members in the order in which they were written.
    public func makeIterator() -> IndexingIterator<[Element]> { members.makeIterator() }

    /// Appends a member whose key the caller knows to be new.
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
    /// Whether both have the same members, in any order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.members.allSatisfy { right[$0.key] == $0.value }
    }

    /// Hashes the members without their order.
    public func hash(into hasher: inout Hasher) {
        // A sum does not depend on the order of the members, and neither does equality.
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
