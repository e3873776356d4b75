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
    private let hash: [UInt8]
    private let digest: [UInt8]
    private let now: UnixTime

    /// - Parameters:
    ///   - hash: Of the caller's key.
    ///   - digest: Of what the caller asked: the same key with another digest is refused.
    package init(_ inner: Inner, app: BundleID, hash: [UInt8], digest: [UInt8], now: UnixTime) {
        self.inner = inner
        self.app = app
        self.hash = hash
        self.digest = digest
        self.now = now
    }

    package var rank: CommandRank { inner.rank }
    package var isAlone: Bool { inner.isAlone }
    package var weight: Int { inner.weight }
    package var keys: [SnapshotKey] { [.idempotency(app, hash: hash)] + inner.keys }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        if let kept = draft.snapshot.idempotency[.init(app, hash)], now < kept.at + IdempotencyRecord.lifetime {
            guard kept.digest == digest, let reply = Self.reply(kept.answer) else { throw .idempotencyKeyReused }
            return Reply(reply: reply, isReplayed: true)
        }
        let reply = try inner.decide(&draft)
        if reply.isFinal, let answer = (try? JSONValue(encoding: Kept(reply: reply)))?.bytes {
            draft.put(IdempotencyRecord(app: app, hash: hash, digest: digest, answer: answer, at: now))
        }
        return Reply(reply: reply, isReplayed: false)
    }

    private static func reply(_ answer: [UInt8]) -> Inner.Reply? {
        (try? (try? JSONValue(parsing: answer))?.decode(Kept.self))?.reply
    }
}
