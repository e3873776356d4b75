import JSONText

/// The body of `POST /v1/activities/{activity}/audience`, and one page of a streamed audience: either people who join
/// and leave, or the whole audience.
public struct AudienceRequest: Sendable, Hashable, Codable {
    /// The ids of users who join; whoever belongs to it already stays.
    public var add: [String]?
    /// The ids of users who leave: their cards are ended.
    public var remove: [String]?
    /// The whole audience: all others leave.
    public var replace: Replacement?

    /// A whole audience, at once or page by page.
    public enum Replacement: Sendable, Hashable {
        /// These users, and nobody else.
        case users([String])
        /// One page of a replacement under a name.
        case page(Page)
    }

    /// One page of a replacement. Nobody leaves before the last page came; repeating a page is harmless.
    public struct Page: Sendable, Hashable, Codable {
        /// What the sender calls the replacement, the same on all of its pages; a new name begins another one.
        public var session: String
        /// The ids of the users of this page.
        public var users: [String]
        /// Whether this is the last page: whom no page named leaves; absent: no.
        public var last: Bool?

        /// A page of a replacement.
        public init(session: String, users: [String], last: Bool? = nil) {
            self.session = session
            self.users = users
            self.last = last
        }
    }

    /// People who join and leave.
    public init(add: [String] = [], remove: [String] = []) {
        self.add = add
        self.remove = remove
    }

    /// A whole audience, or a page of one.
    public init(replace: Replacement) {
        self.replace = replace
    }

    /// A request from its JSON; refuses `replace` beside `add` or `remove`, and one that says nothing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        add = try container.decodeIfPresent([String].self, forKey: .add)
        remove = try container.decodeIfPresent([String].self, forKey: .remove)
        replace = try container.decodeIfPresent(Replacement.self, forKey: .replace)
        if replace != nil, add != nil { throw decoder.excluded(CodingKeys.replace, by: CodingKeys.add) }
        if replace != nil, remove != nil { throw decoder.excluded(CodingKeys.replace, by: CodingKeys.remove) }
        if add == nil, remove == nil, replace == nil { throw decoder.invalid("`add`, `remove` or `replace`") }
    }
}

extension AudienceRequest.Replacement: Codable {
    private static let expectation = "an array of user ids, or an object with `session`, `users` and `last`"

    /// A whole audience from an array, a page from an object.
    public init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .array: self = .users(try [String](from: decoder))
        case .object: self = .page(try AudienceRequest.Page(from: decoder))
        case .null, .bool, .number, .string: throw decoder.wrongType(Self.self, Self.expectation)
        }
    }

    /// Writes the array or the object.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .users(let users): try users.encode(to: encoder)
        case .page(let page): try page.encode(to: encoder)
        }
    }
}
