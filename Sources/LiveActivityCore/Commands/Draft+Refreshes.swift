extension Draft {
    package mutating func put(_ refresh: RefreshRecord) {
        let key = refresh.key
        let (old, was) = (snapshot.refreshes[key], changes.refreshes.contains(key))
        guard old != refresh else { return }
        snapshot.refreshes[key] = refresh
        changes.refreshes.insert(key)
        onRefusal { draft in
            draft.snapshot.refreshes[key] = old
            if !was { draft.changes.refreshes.remove(key) }
        }
    }

    package mutating func put(_ memo: MemoRecord) {
        let key = memo.key
        let old = snapshot.memos[key]
        guard old != memo else { return }
        let (was, wasRemoved) = (changes.memos.contains(key), changes.removedMemos.contains(key))
        snapshot.memos[key] = memo
        changes.memos.insert(key)
        changes.removedMemos.remove(key)
        onRefusal { draft in
            draft.snapshot.memos[key] = old
            if !was { draft.changes.memos.remove(key) }
            if wasRemoved { draft.changes.removedMemos.insert(key) }
        }
    }

    package mutating func removeMemo(_ key: MemoKey) {
        guard let old = snapshot.memos.removeValue(forKey: key) else { return }
        let was = changes.memos.contains(key)
        changes.memos.remove(key)
        changes.removedMemos.insert(key)
        onRefusal { draft in
            draft.snapshot.memos[key] = old
            if was { draft.changes.memos.insert(key) }
            draft.changes.removedMemos.remove(key)
        }
    }

    /// The commit leaves something to compute, now or at a time that nobody waits for yet.
    package var makesRefreshDue: Bool {
        changes.refreshes.contains { key in
            guard let record = snapshot.refreshes[key] else { return false }
            return record.node == nil && record.dueAt != nil
        }
    }
}
