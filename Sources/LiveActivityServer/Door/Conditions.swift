import Crypto
import HTTPTypes
import JSONText
import LiveActivityCore

/// The conditions in a call's headers, or in the corresponding members of a batch's line.
struct Conditions: Sendable {
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")
    static let replayed = HTTPField.Name("Idempotency-Replayed")

    var match: Preconditions.Match?
    var key: IdempotencyKey?

    init(match: Preconditions.Match? = nil, key: IdempotencyKey? = nil) {
        self.match = match
        self.key = key
    }

    /// - Throws: `invalid_header`.
    init(_ headers: HTTPFields, for route: Route) throws(Problem) {
        if let text = headers[.ifMatch] {
            guard route.takesIfMatch else {
                throw Problem(.invalidHeader, "this call takes no `If-Match`", fix: "leave the header out")
            }
            guard let match = Self.match(text) else {
                throw Problem(
                    .invalidHeader, "`If-Match` is not a list of entity tags", expected: #""7", or *"#,
                    fix: "send the `ETag` of an earlier answer, with its quotation marks")
            }
            self.match = match
        }
        if route.method != .get, let name = Self.idempotencyKey, let text = headers[name] {
            if case .lines = route.access {
                throw Problem(
                    .invalidHeader, "a batch takes no `Idempotency-Key` of its own: each line is a call by itself",
                    fix: "give each line its `idempotencyKey`")
            }
            guard route.takesKey else {
                throw Problem(
                    .invalidHeader, "this call takes no `Idempotency-Key`: to repeat it does no harm",
                    fix: "leave the header out")
            }
            guard let key = IdempotencyKey(text) else {
                throw Problem(
                    .invalidHeader, "`Idempotency-Key` is not allowed", expected: IdempotencyKey.expectation)
            }
            self.key = key
        }
    }

    static func tag(_ revision: Revision) -> String { "\"\(revision)\"" }

    /// Parses the revisions in `If-Match` (RFC 9110 section 13.1.1). Returns `nil` if it is not a list of entity tags.
    ///
    /// A weak tag never matches, nor does a tag that is not a revision.
    static func match(_ text: String) -> Preconditions.Match? {
        var rest = text.utf8[...]
        func skip(_ bytes: [UInt8]) { while let first = rest.first, bytes.contains(first) { rest.removeFirst() } }
        let space = [UInt8(ascii: " "), UInt8(ascii: "\t")]
        if text.utf8.filter({ !space.contains($0) }).elementsEqual([UInt8(ascii: "*")]) { return .anything }
        var revisions: Set<Revision> = []
        var count = 0
        skip(space + [UInt8(ascii: ",")])
        while !rest.isEmpty {
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest.removeFirst(2) }
            guard rest.popFirst() == UInt8(ascii: "\""), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else {
                return nil
            }
            let tag = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[rest.index(after: end)...]
            count += 1
            if !isWeak, let revision = Revision(tag), String(revision) == tag { revisions.insert(revision) }
            skip(space)
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
            skip(space + [UInt8(ascii: ",")])
        }
        return count > 0 ? .revisions(revisions) : nil
    }
}

/// A caller's name for one call, which identifies a repetition of it. Only its hash is stored.
struct IdempotencyKey: Sendable {
    static let expectation = "1 to 255 visible ASCII characters"

    /// The first 16 bytes of the SHA-256 hash.
    private let hash: [UInt8]

    init?(_ text: String) {
        guard 1...255 ~= text.utf8.count, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
        hash = Array(SHA256.hash(data: Array(text.utf8)).prefix(16))
    }

    /// Creates the key of a notification from the id in its body. It never equals the key of a header.
    init(notification id: String, to user: UserID) {
        // The space makes the difference, because a header's key has no spaces.
        let text = "notification \(user.text.utf8.count) \(user.text) \(id)"
        hash = Array(SHA256.hash(data: Array(text.utf8)).prefix(16))
    }

    /// Returns the place where the key is stored.
    ///
    /// All holders of the app's keys share their names. A person's names are the person's own, whichever credential is
    /// used, so that nobody can take the name of a backend's call.
    ///
    /// Each of the backend's keys has its own place. A person's keys share 256 places, and the newest replaces another
    /// one. So a phone cannot fill the store, however many keys it invents. Its calls can be repeated without a key.
    func place(of caller: Caller) -> IdempotencyPlace {
        guard let user = caller.user else { return IdempotencyPlace(hash: hash) }
        // A header's key has no spaces.
        let text = "person \(user.text.utf8.count) \(user.text) "
        let place = SHA256.hash(data: Array(text.utf8) + hash.prefix(1)).prefix(16)
        return IdempotencyPlace(hash: Array(place), name: hash)
    }

    /// Returns a digest of the call's content. The order of members and the encoding of the path make no difference.
    func digest(of call: Call) -> [UInt8] {
        var hasher = SHA256()
        func update(_ bytes: [UInt8]) {
            // The length keeps one part from being read as the end of another.
            hasher.update(data: Array("\(bytes.count):".utf8))
            hasher.update(data: bytes)
        }
        update(Array("\(call.route.method.rawValue) \(call.route.path)".utf8))
        for (name, value) in call.parameters.sorted(by: { $0.key < $1.key }) { update(Array("\(name)=\(value)".utf8)) }
        for (name, value) in call.query.sorted { update(Array("?\(name)=\(value)".utf8)) }
        update(call.json?.canonicalBytes ?? [])
        return Array(hasher.finalize().prefix(16))
    }
}
