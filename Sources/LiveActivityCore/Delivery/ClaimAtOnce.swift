import APNSModel

/// Claim that is made in the transaction of other commands, of the work that these make due.
///
/// The change of a small activity then costs two transactions instead of three, and its rows are loaded and written
/// once. The claim takes what an ordinary one that follows would take, or less: what it leaves stays due.
package struct ClaimAtOnce: Sendable {
    package let claim: ClaimWork
    /// Called once, after the transaction: with the reply if the claim was committed, otherwise with `nil`.
    package let end: @Sendable (ClaimWork.Reply?) -> Void

    package init(_ claim: ClaimWork, end: @escaping @Sendable (ClaimWork.Reply?) -> Void) {
        self.claim = claim
        self.end = end
    }

    /// Returns the next claim; `nil` if none may be made now.
    package typealias Source = @Sendable () -> ClaimAtOnce?
}

extension Draft {
    /// `true` if the draft changes rows that may make a lane due.
    package var mayMakeLanesDue: Bool { !changes.activities.isEmpty || !changes.lanes.isEmpty }

    /// Returns the due lanes of small activities that this draft has changed, with the rows that a claim needs, up to
    /// the claim's limits; `nil` if there are none.
    ///
    /// The pages are missing. To load them, look at the lanes' phones in the state before this draft, which has not
    /// changed them. `Snapshot.fewPhones` lists the phones that the result holds already.
    package func workAtOnce(for claim: ClaimWork) -> Snapshot? {
        guard mayMakeLanesDue else { return nil }
        let changed = changes.activities.union(changes.lanes.lazy.map(\.activity))
        let touched = Set(
            [changes.cards, changes.updateTokens, changes.removedUpdateTokens].lazy.joined().map(\.activity))
        let now = claim.now
        var phones = min(claim.limits.phones, claim.pace.pushes)
        var work = Snapshot()
        for number in changed.sorted() where !touched.contains(number) {
            guard let activity = snapshot.activities[number], let content = snapshot.contents[number],
                let lanes = snapshot.lanes[number], let lane = lanes.first, lanes.count == 1, lane.isSmall,
                !lane.shouldSplit(lanes: lanes.count, claim.limits.width),
                activity.refreshAt.map({ $0 > now }) ?? true, lane.isDue(in: activity, at: now)
            else { continue }
            phones -= lane.counts.total
            guard phones >= 0, work.due.count < claim.limits.lanes else { break }
            work.activities[number] = activity
            work.contents[number] = content
            work.lanes[number] = lanes
            for channel in channels(of: number) { work.channels[channel.key] = channel }
            work.due.append(lane.key)
            if let time = activity.wakeAt, time <= now { work.woken.append(number) }
            bring(phonesOf: activity, lane, to: &work)
        }
        return work.due.isEmpty ? nil : work
    }

    /// Copies an activity's phones, if they are loaded with all that a claim needs. A start needs more, and a claim
    /// skips a phone whose token cannot be opened, whereas an answer takes it for a phone without a token.
    private func bring(phonesOf activity: ActivityRecord, _ lane: LaneRecord, to work: inout Snapshot) {
        let keys = (snapshot.fewPhones[activity.number] ?? []).map { Snapshot.PhoneKey(activity.number, $0) }
        guard keys.count == lane.counts.total,
            keys.allSatisfy({ key in
                snapshot.updateTokens[key] != nil
                    && snapshot.cards[key].map { !$0.needsDevice(in: activity) } ?? false
            })
        else { return }
        for key in keys {
            work.cards[key] = snapshot.cards[key]
            work.facts[key.device] = snapshot.devices[key.device]?.facts ?? snapshot.facts[key.device]
            work.updateTokens[key] = snapshot.updateTokens[key]
            let budget = BudgetKey(key.device, .high)
            work.budgets[budget] = snapshot.budgets[budget]
        }
        work.fewPhones[activity.number] = keys.map(\.device)
    }

    /// Claims work of `workAtOnce`, after its pages were loaded.
    ///
    /// A lane is left out if this draft changes what a claim would find about its phones.
    ///
    /// - Returns: `nil` if nothing is claimed.
    package mutating func claim(_ work: Snapshot, by claim: ClaimWork) -> AtOnce? {
        var own = Draft(work)
        own.snapshot.due = work.due.filter { key in work.pages[key].map { isUntouched($0, of: key, work) } ?? false }
        guard !own.snapshot.due.isEmpty else { return nil }
        let numbers = Set(own.snapshot.due.map(\.activity))
        own.snapshot.woken = work.woken.filter(numbers.contains)
        guard case .success(let reply) = own.run(claim) else { return nil }
        absorb(own)
        return (reply, own.snapshot.due, own.snapshot.woken)
    }

    /// Reply of a claim, with the lanes that it looked at, and the woken ones among their activities.
    package typealias AtOnce = (reply: ClaimWork.Reply, due: [LaneKey], woken: [ActivityNumber])

    /// Returns `true` if the page holds what a load after this draft would find.
    ///
    /// A start also depends on the device's cards of other activities.
    private func isUntouched(_ page: Snapshot.Page, of key: LaneKey, _ work: Snapshot) -> Bool {
        let activity = work.activities[key.activity]
        let isAlone =
            changes.activities.allSatisfy { $0 == key.activity } && changes.cards.isEmpty
            && changes.updateTokens.isEmpty && changes.removedUpdateTokens.isEmpty
        return page.isComplete
            && page.devices.allSatisfy { device in
                !changesFacts(of: device)
                    && (isAlone
                        || work.cards[.init(key.activity, device)].map { !$0.needsDevice(in: activity) } ?? false)
            }
    }

    private func changesFacts(of device: DeviceKey) -> Bool {
        changes.devices.contains(device) || changes.budgets.contains(BudgetKey(device, .high))
            || changes.budgets.contains(BudgetKey(device, .start))
            || changes.deviceTokens.contains { $0.device == device }
    }
}

extension LaneRecord {
    fileprivate var isSmall: Bool { 1...Self.small ~= counts.total }

    /// Returns `true` if a claim at `now` looks at phones of the lane: see `DueLanes`.
    fileprivate func isDue(in activity: ActivityRecord, at now: UnixTime) -> Bool {
        guard flight == nil, !isBackingOff(now: now) else { return false }
        if let nextAt, nextAt <= now { return true }
        guard let wakeAt = activity.wakeAt, wakeAt <= now else { return false }
        return page(for: activity, at: now) != .due
    }
}
