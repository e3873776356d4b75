import JSONText

/// The body of `POST /v1/activities/{activity}/audience`, and one page of a streamed audience.
///
/// It either adds and removes people, or replaces the whole audience.
public struct AudienceRequest: Sendable, Hashable, Codable {
    /// The ids of users who join. Users who already belong to the audience stay in it.
    public var add: [String]?
    /// The ids of users who leave. Their cards are ended.
    public var remove: [String]?
    /// The whole audience. All other users leave.
    public var replace: Replacement?

    /// A whole audience, in one call or page by page.
    public enum Replacement: Sendable, Hashable {
        /// These users, and nobody else.
        case users([String])
        /// One page of a replacement that has a name.
        case page(Page)
    }

    /// One page of a replacement.
    ///
    /// Nobody leaves before the last page has arrived. A page can be sent again without harm.
    public struct Page: Sendable, Hashable, Codable {
        /// The sender's name for the replacement, the same on all of its pages. A new name begins another replacement.
        public var session: String
        /// The ids of the users on this page.
        public var users: [String]
        /// `true` if this is the last page. Users whom no page has named then leave. Default: `false`.
        public var last: Bool?

        /// Creates a page of a replacement.
        public init(session: String, users: [String], last: Bool? = nil) {
            self.session = session
            self.users = users
            self.last = last
        }
    }

    /// Creates a request that adds and removes people.
    public init(add: [String] = [], remove: [String] = []) {
        self.add = add
        self.remove = remove
    }

    /// Creates a request that replaces the whole audience, or sends a page of a replacement.
    public init(replace: Replacement) {
        self.replace = replace
    }

    /// Decodes a request.
    ///
    /// - Throws: `DecodingError`, also if `replace` is present beside `add` or `remove`, or if all three are absent.
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

    /// Decodes a whole audience from an array, or a page from an object.
    public init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .array: self = .users(try [String](from: decoder))
        case .object: self = .page(try AudienceRequest.Page(from: decoder))
        case .null, .bool, .number, .string: throw decoder.wrongType(Self.self, Self.expectation)
        }
    }

    /// Encodes a whole audience as an array, and a page as an object.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .users(let users): try users.encode(to: encoder)
        case .page(let page): try page.encode(to: encoder)
        }
    }
}
