package import APNSModel

/// One person's cards of a provider-driven type: how often their computation was asked for, and when it is due.
package struct RefreshRecord: Sendable, Equatable {
    /// What somebody waits for goes before what many get at once: midnight, and whole populations.
    package enum Pace: Int, Sendable, CaseIterable { case prompt = 0, paced = 1 }

    package var user: UserNumber
    package var type: String
    package var app: BundleID
    package var userID: UserID
    /// Grows with each ask; many that come while one waits are answered by one run.
    package var asked: Int64 = 0
    /// The asks that the last finished run answers.
    package var done: Int64 = 0
    package var pace = Pace.paced
    /// When it is to be claimed; for a run that goes on, the end of its lease.
    package var dueAt: UnixTime?
    /// Grows with each run, so that what a lost one has to say is known as late.
    package var fence: Int64 = 0
    /// The process whose run goes on.
    package var node: Int64?
    /// Failures in a row.
    package var tries = 0
    /// Why the last run failed, in words of ours.
    package var failure: String?
    package var finishedAt: UnixTime?

    package init(user: UserNumber, type: String, app: BundleID, userID: UserID) {
        self.user = user
        self.type = type
        self.app = app
        self.userID = userID
    }

    package var key: RefreshKey { RefreshKey(user, type) }

    package func isDue(at now: UnixTime, node: Int64) -> Bool {
        if let running = self.node, running != node { return true }
        return dueAt.map { $0 <= now } ?? false
    }

    /// Somebody wants it computed anew. An ask during a run is answered by another run, since that one may have read
    /// what stood before; after a failure the wait goes on, or a provider that is down would be asked without end.
    package mutating func ask(_ wish: Pace, at now: UnixTime) {
        asked += 1
        if wish == .prompt { pace = .prompt }
        guard node == nil, tries == 0 else { return }
        dueAt = min(dueAt ?? now, now)
    }
}

package struct RefreshKey: Sendable, Hashable, Comparable {
    package let user: UserNumber
    package let type: String

    package init(_ user: UserNumber, _ type: String) {
        self.user = user
        self.type = type
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.user, left.type) < (right.user, right.type)
    }
}

/// What a provider wanted to be told the next time, for one person and time zone, and the day it was said on.
package struct MemoRecord: Sendable, Equatable {
    package var user: UserNumber
    package var type: String
    package var zone: String
    /// The local day of the last answer: `2026-11-21`.
    package var day: String
    /// JSON, as it is given back; `nil`: the provider left none.
    package var memo: [UInt8]?

    package init(user: UserNumber, type: String, zone: String, day: String, memo: [UInt8]?) {
        self.user = user
        self.type = type
        self.zone = zone
        self.day = day
        self.memo = memo
    }

    package var key: MemoKey { MemoKey(user, type, zone) }
}

package struct MemoKey: Sendable, Hashable, Comparable {
    package let user: UserNumber
    package let type: String
    package let zone: String

    package init(_ user: UserNumber, _ type: String, _ zone: String) {
        self.user = user
        self.type = type
        self.zone = zone
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.user, left.type, left.zone) < (right.user, right.type, right.zone)
    }
}
