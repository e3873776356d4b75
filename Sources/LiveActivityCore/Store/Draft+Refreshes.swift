extension Draft {
    package mutating func put(_ refresh: RefreshRecord) {
        guard snapshot.refreshes[refresh.key] != refresh else { return }
        write(refresh, at: refresh.key, \.refreshes, \.refreshes)
    }

    package mutating func put(_ memo: MemoRecord) {
        guard snapshot.memos[memo.key] != memo else { return }
        write(memo, at: memo.key, \.memos, \.memos, removed: \.removedMemos)
    }

    package mutating func removeMemo(_ key: MemoKey) {
        erase(key, \.memos, \.memos, removed: \.removedMemos)
    }

    /// `true` if the commit leaves a computation that no process has claimed, due now or later.
    package var makesRefreshDue: Bool {
        changes.refreshes.contains { key in
            guard let record = snapshot.refreshes[key] else { return false }
            return record.node == nil && record.dueAt != nil
        }
    }
}
