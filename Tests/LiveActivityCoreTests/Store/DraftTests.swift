import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a draft shared by a group. A refused command's changes must be undone completely.
struct DraftTests {
    /// A command that makes random changes and is refused if `refusal` is set.
    private struct Change: Command {
        typealias Reply = Int
        let seed: UInt64
        let count: Int
        let refusal: Refusal?
        var rank: CommandRank { .write }
        var keys: [SnapshotKey] { [] }

        func decide(_ draft: inout Draft) throws(Refusal) -> Int {
            var dice = SeededDice(seed: seed)
            for _ in 0..<count { change(&draft, &dice) }
            if let refusal { throw refusal }
            return count
        }

        private func change(_ draft: inout Draft, _ dice: inout SeededDice) {
            let activity = ActivityNumber(1 + dice.roll(3))
            let device = DeviceKey(1 + dice.roll(4))
            let user = UserNumber(1 + dice.roll(3))
            let now = Sample.now + .seconds(dice.roll(4))
            switch dice.roll(19) {
            case 0:
                var record = ActivityRecord(
                    number: activity, app: Sample.bundleID, id: Sample.activityID("\(activity)"), type: "order",
                    at: now)
                record.revision = Int64(dice.roll(3))
                draft.put(record)
            case 1:
                draft.put(
                    ContentRecord(
                        activity: activity, revision: 1, state: .empty, digest: dice.next(), attributes: .empty,
                        attributesDigest: 1))
            case 2: draft.change(LaneKey(activity, 0)) { $0.tries = dice.roll(4) }
            case 3:
                guard let lane = draft.snapshot.lanes[activity]?.first, lane.middle > lane.fromDevice else { return }
                var counts = LaneCounts()
                counts.live = dice.roll(2)
                let halves = lane.split(lower: counts)
                draft.put(halves.lower)
                draft.put(halves.upper)
            case 4:
                var record = Sample.deviceRecord(device, user: user)
                record.contactAt = now
                draft.put(record)
            case 5:
                var token = Sample.startToken(device)
                token.generation = Int64(dice.roll(3))
                draft.put(token)
            case 6..<9:
                var card = CardMachine(activity: activity, device: device, run: 1, at: Sample.now)
                card.columns.state = dice.pick(CardState.allCases)
                card.lookAt = dice.chance(50) ? now : nil
                draft.put(card)
            case 9:
                var token = Sample.updateToken(activity, device)
                token.generation = Int64(dice.roll(3))
                token.predecessor = dice.chance(30) ? TokenValue(stored: "\(dice.roll(3))") : nil
                draft.put(token)
            case 10: draft.removeUpdateToken(.init(activity, device), of: Sample.bundleID, at: now)
            case 11: draft.addMember(user, to: activity)
            case 12: draft.removeMember(user, from: activity)
            case 13: draft.mark(user, of: activity, with: Int64(dice.roll(3)))
            default: changeRest(&draft, &dice, activity, device, now)
            }
        }

        private func changeRest(
            _ draft: inout Draft, _ dice: inout SeededDice, _ activity: ActivityNumber, _ device: DeviceKey,
            _ now: UnixTime
        ) {
            switch dice.roll(7) {
            case 0:
                var record = draft.audience(of: activity)
                record.members = dice.roll(3)
                draft.put(record)
            case 1:
                draft.put(
                    IdempotencyRecord(
                        app: Sample.bundleID, hash: [UInt8(dice.roll(3))], digest: [UInt8(dice.roll(3))], answer: [],
                        at: now))
            case 2:
                draft.put(
                    TombstoneRecord(
                        device: device, localID: Sample.local("\(dice.roll(3))"), activity: activity, state: .gone,
                        at: now))
            case 3:
                draft.put(
                    TokenOwnerRecord(
                        app: Sample.bundleID, value: TokenValue(stored: "\(dice.roll(3))"), kind: .update,
                        device: device, activity: activity, firstSeenAt: now))
            case 4:
                draft.put(BudgetRecord(device: device, kind: dice.pick(BudgetRecord.Kind.allCases), at: now))
            case 5:
                _ = draft.user(Sample.bundleID, Sample.user("\(dice.roll(6))"))
                if dice.chance(50) { _ = draft.takeActivityNumber() }
            default: draft.record(HistoryRecord(activity: activity, at: now, revision: 1, entries: []))
            }
        }
    }

    /// Returns what the draft's own index contains.
    private static func looks(_ draft: inout Draft) -> [String] {
        (Int64(0)...5).flatMap { number in
            [
                "phones on \(number): \(draft.phones(on: number))", "tokens of \(number): \(draft.tokens(of: number))",
                "devices of \(number): \(draft.devices(of: number).map(\.key))",
                "memberships of \(number): \(draft.memberships(of: number))",
            ]
        }
    }

    @Test(arguments: UInt64(1)...300)
    func `a refused command leaves a draft as it found it`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var stored = Draft(Snapshot())
        _ = stored.run(Change(seed: dice.next(), count: dice.roll(40), refusal: nil))
        var draft = Draft(stored.snapshot)
        for _ in 0..<6 {
            // The index may or may not exist yet.
            if dice.chance(50) { _ = draft.devices(of: 1) }
            if dice.chance(40) {
                _ = draft.run(Change(seed: dice.next(), count: dice.roll(15), refusal: nil))
            } else {
                let before = draft
                let result = draft.run(Change(seed: dice.next(), count: 1 + dice.roll(30), refusal: .deadToken))
                #expect(throws: Refusal.deadToken, "seed \(seed)") { try result.get() }
                #expect(draft.snapshot == before.snapshot, "seed \(seed)")
                #expect(draft.changes == before.changes, "seed \(seed)")
            }
            var fresh = Draft(draft.snapshot)
            #expect(Self.looks(&draft) == Self.looks(&fresh), "seed \(seed)")
        }
    }

    @Test func `whoever leaves and is back in one group has the mark of one who joins`() {
        var draft = Draft(Snapshot())
        draft.addMember(1, to: 1)
        draft.mark(1, of: 1, with: 5)
        draft = Draft(draft.snapshot)
        draft.removeMember(1, from: 1)
        draft.addMember(1, to: 1)
        #expect(draft.changes.memberMarks == [.init(1, 1)] && draft.snapshot.memberMarks.isEmpty)
        #expect(draft.changes.removedMembers.isEmpty && draft.changes.addedMembers.isEmpty)
    }
}
