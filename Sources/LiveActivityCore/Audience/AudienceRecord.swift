package import APNSModel

/// An audience as a whole: how many belong to it, and which replacement of it goes on.
package struct AudienceRecord: Sendable, Hashable {
    /// How many names of sessions that were replaced are remembered.
    package static let rememberedSessions = 16

    package var activity: ActivityNumber
    package var members = 0
    /// Grows with each replacement; members carry that of the one that named them last.
    package var mark: Int64 = 0
    /// The replacement that comes page by page, by the name that its sender gave it.
    package var session: String?
    /// The last page of the session came.
    package var isClosed = false
    /// Sessions that a newer replacement took the place of, the latest last.
    package var replaced: [String] = []

    package init(activity: ActivityNumber) {
        self.activity = activity
    }

    /// Another replacement begins: pages of the one before are late from now on.
    mutating func begin(session name: String?) {
        if let session { replaced = Array((replaced + [session]).suffix(Self.rememberedSessions)) }
        mark += 1
        session = name
        isClosed = false
    }
}

/// What was answered to a call with an idempotency key, written in the commit of that call.
package struct IdempotencyRecord: Sendable, Equatable {
    package static let lifetime = Duration.seconds(24 * 3600)

    package var app: BundleID
    /// Of the key; opaque here.
    package var hash: [UInt8]
    /// Of method, path and body; opaque here.
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
