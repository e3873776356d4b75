package import APNSModel

/// Size of an audience, and the replacement of it that is going on.
package struct AudienceRecord: Sendable, Hashable {
    /// Number of replaced sessions whose names are remembered.
    package static let rememberedSessions = 16

    package var activity: ActivityNumber
    package var members = 0
    /// Number of the newest replacement. Each member carries the mark of the last one that named them.
    package var mark: Int64 = 0
    /// Name that the sender gave to a replacement that comes page by page.
    package var session: String?
    /// `true` if the session's last page has come.
    package var isClosed = false
    /// Sessions that a newer replacement has overtaken, the latest last.
    package var replaced: [String] = []

    package init(activity: ActivityNumber) {
        self.activity = activity
    }

    /// Begins another replacement. Pages of the one before are late from now on.
    mutating func begin(session name: String?) {
        if let session { replaced = Array((replaced + [session]).suffix(Self.rememberedSessions)) }
        mark += 1
        session = name
        isClosed = false
    }
}

/// Answer to a call with an idempotency key, stored in the commit of that call.
package struct IdempotencyRecord: Sendable, Equatable {
    package static let lifetime = Duration.seconds(24 * 3600)

    package var app: BundleID
    /// Hash of the key; opaque here.
    package var hash: [UInt8]
    /// Hash of method, path and body; opaque here.
    package var digest: [UInt8]
    package var answer: [UInt8]
    package var at: UnixTime

    package init(app: BundleID, hash: [UInt8], digest: [UInt8], answer: [UInt8], at: UnixTime) {
        self.app = app
        self.hash = hash
        self.digest = digest
        self.answer = answer
        self.at = at
    }
}
