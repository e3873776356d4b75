package import APNSModel

/// Computation of one person's cards of a provider-driven type: the number of requests, and when it is due.
package struct RefreshRecord: Sendable, Equatable {
    /// Priority of a computation. A computation that somebody waits for goes first. `paced` computations are due for
    /// many people at once, such as at midnight.
    package enum Pace: Int, Sendable, CaseIterable { case prompt = 0, paced = 1 }

    package var user: UserNumber
    package var type: String
    package var app: BundleID
    package var userID: UserID
    /// Number of requests. Requests that arrive before a run begins are answered by one run.
    package var asked: Int64 = 0
    /// Number of the latest request that the last finished run answered.
    package var done: Int64 = 0
    package var pace = Pace.paced
    /// Time at which the computation is due. During a run, the end of its lease.
    package var dueAt: UnixTime?
    /// Number that grows with each run, so that a late answer of a lost run is recognized.
    package var fence: Int64 = 0
    /// Process that is running the computation.
    package var node: Int64?
    /// Number of consecutive failures.
    package var tries = 0
    /// Description of the last failure, in Islet's words.
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

    /// Requests a new computation.
    ///
    /// A request during a run is answered by another run, because the current one may have read older data. After a
    /// failure, the wait continues. Otherwise, a provider that is down would be asked without pause.
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

/// Memo that a provider left for its next question about one person and time zone, with the day of the answer.
package struct MemoRecord: Sendable, Equatable {
    package var user: UserNumber
    package var type: String
    package var zone: String
    /// Local day of the last answer, such as `2026-11-21`.
    package var day: String
    /// JSON that is returned to the provider; `nil` if it left none.
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
