package import APNSModel
import JSONText

/// Reply that can be stored and returned again.
package protocol IdempotentReply: Codable, Sendable {
    /// `false` while the call still needs further commands. Its reply is not stored yet, and repeating the call is
    /// safe.
    var isFinal: Bool { get }
}

extension IdempotentReply {
    package var isFinal: Bool { true }
}

extension DeviceKey: IdempotentReply {}

/// Place where the reply to a call is stored.
package struct IdempotencyPlace: Sendable, Equatable {
    /// Hash by which the place is found.
    package var hash: [UInt8]
    /// Name of the call that holds the place, if several calls share it.
    ///
    /// The name is empty if the place is not shared. Otherwise, all names have the same length. A call with another
    /// name replaces the stored reply.
    package var name: [UInt8]

    package init(hash: [UInt8], name: [UInt8] = []) {
        self.hash = hash
        self.name = name
    }
}

/// Command that its caller may send twice. The second time, it returns the reply of the first and changes nothing.
///
/// The reply is written in the same commit, so a crash cannot separate the two. A refusal is not stored.
package struct Idempotent<Inner: Command>: Command where Inner.Reply: IdempotentReply {
    package struct Reply: Sendable {
        package var reply: Inner.Reply
        package var isReplayed: Bool
    }

    private struct Kept: Codable {
        let reply: Inner.Reply
    }

    private let inner: Inner
    private let app: BundleID
    private let place: IdempotencyPlace
    private let digest: [UInt8]
    private let now: UnixTime

    /// Creates a command that can be repeated.
    ///
    /// - Parameters:
    ///   - place: Place of the caller's idempotency key.
    ///   - digest: Digest of the caller's request. The same key with another digest is refused with
    ///     `idempotencyKeyReused`.
    package init(_ inner: Inner, app: BundleID, at place: IdempotencyPlace, digest: [UInt8], now: UnixTime) {
        self.inner = inner
        self.app = app
        self.place = place
        self.digest = place.name + digest
        self.now = now
    }

    package var rank: CommandRank { inner.rank }
    package var isAlone: Bool { inner.isAlone }
    package var weight: Int { inner.weight }
    package var keys: [SnapshotKey] { [.idempotency(app, hash: place.hash)] + inner.keys }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        if let kept = draft.snapshot.idempotency[.init(app, place.hash)], now < kept.at + IdempotencyRecord.lifetime,
            kept.digest.starts(with: place.name)
        {
            guard kept.digest == digest, let reply = Self.reply(kept.answer) else { throw .idempotencyKeyReused }
            return Reply(reply: reply, isReplayed: true)
        }
        let reply = try inner.decide(&draft)
        if reply.isFinal, let answer = (try? JSONValue(encoding: Kept(reply: reply)))?.bytes {
            draft.put(IdempotencyRecord(app: app, hash: place.hash, digest: digest, answer: answer, at: now))
        }
        return Reply(reply: reply, isReplayed: false)
    }

    private static func reply(_ answer: [UInt8]) -> Inner.Reply? {
        (try? (try? JSONValue(parsing: answer))?.decode(Kept.self))?.reply
    }
}
