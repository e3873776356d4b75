package import APNSModel
import JSONText

/// A reply that can be kept and given again.
package protocol IdempotentReply: Codable, Sendable {
    /// `false` while further commands belong to the same call: then the call is not kept yet, and repeating it is safe.
    var isFinal: Bool { get }
}

extension IdempotentReply {
    package var isFinal: Bool { true }
}

extension DeviceKey: IdempotentReply {}

/// Where the reply to a call is kept.
package struct IdempotencyPlace: Sendable, Equatable {
    /// What the place is found by.
    package var hash: [UInt8]
    /// Which of several calls has it now, where several share one: it is empty where none does, and else of the same
    /// length for all. One that comes takes the place of another.
    package var name: [UInt8]

    package init(hash: [UInt8], name: [UInt8] = []) {
        self.hash = hash
        self.name = name
    }
}

/// A command whose caller may send it twice: the second time gives the reply of the first, and changes nothing. The
/// reply is written in the same commit, so that no crash comes between. A refusal is not kept.
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

    /// - Parameters:
    ///   - place: Of the caller's key.
    ///   - digest: Of what the caller asked: the same key with another digest is refused.
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
