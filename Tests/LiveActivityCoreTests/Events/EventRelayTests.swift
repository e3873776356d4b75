import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct EventRelayTests {
    private static let other = Sample.bundle("com.acme.other")

    private static func event(
        _ number: EventNumber, _ kind: EventRecord.Kind = .ended, _ activity: String? = "a",
        app: BundleID = Sample.bundleID
    ) -> StoredEvent {
        StoredEvent(
            number: number, record: EventRecord(kind, app: app, at: Sample.now),
            activity: activity.map(Sample.activityID))
    }

    private static func numbers(_ step: EventRelay.Step) -> [EventNumber]? {
        if case .send(let events) = step { events.map(\.number) } else { nil }
    }

    @Test func `a reader that is level gets what comes, once, in order`() throws {
        var relay = EventRelay()
        _ = relay.offer([], after: 10, through: 10)
        let reader = try relay.join(Sample.bundleID, EventFilter(), after: 10)
        #expect(relay.next(reader) == .wait(at: 10))
        #expect(relay.offer([Self.event(11), Self.event(12)], after: 10, through: 12) == [reader])
        #expect(relay.offer([Self.event(13)], after: 12, through: 13) == [reader])
        #expect(Self.numbers(relay.next(reader)) == [11, 12, 13])
        #expect(relay.next(reader) == .wait(at: 13))
        #expect(relay.offer([Self.event(13)], after: 12, through: 13).isEmpty)
    }

    @Test func `one that is behind reads the store until it is level`() throws {
        var relay = EventRelay()
        _ = relay.offer([], after: 10, through: 10)
        let reader = try relay.join(Sample.bundleID, EventFilter(), after: 3)
        #expect(relay.next(reader) == .read(after: 3))
        // Events that arrive meanwhile are also in the store.
        #expect(relay.offer([Self.event(11)], after: 10, through: 11) == [reader])
        relay.found([Self.event(4), Self.event(9)], through: 9, for: reader)
        #expect(Self.numbers(relay.next(reader)) == [4, 9])
        #expect(relay.next(reader) == .read(after: 9))
        relay.found([Self.event(11), Self.event(12)], through: 12, for: reader)
        #expect(Self.numbers(relay.next(reader)) == [11, 12])
        #expect(relay.next(reader) == .wait(at: 12))
        // The reader was ahead of the relay, so events that it has do not come again.
        #expect(relay.offer([Self.event(12), Self.event(13)], after: 11, through: 13) == [reader])
        #expect(Self.numbers(relay.next(reader)) == [13])
    }

    @Test func `who came before the relay knew what there is misses nothing`() throws {
        var relay = EventRelay()
        let reader = try relay.join(Sample.bundleID, EventFilter(), after: 5)
        #expect(relay.next(reader) == .wait(at: 5))
        #expect(relay.offer([], after: 10, through: 10) == [reader])
        #expect(relay.next(reader) == .read(after: 5))
    }

    @Test func `an app sees its own events alone, and of those what its filter lets through`() throws {
        var relay = EventRelay()
        let all = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        let some = try relay.join(
            Sample.bundleID, EventFilter(activity: Sample.activityID("a"), kinds: [.ended, .held]), after: 0)
        let its = try relay.join(Self.other, EventFilter(), after: 0)
        let concerned = relay.offer(
            [
                Self.event(1), Self.event(2, .started), Self.event(3, .ended, "b"), Self.event(4, .held),
                Self.event(5, .keyHalted, nil), Self.event(6, app: Self.other),
            ], after: 0, through: 6)
        #expect(concerned == [all, some, its])
        #expect(Self.numbers(relay.next(all)) == [1, 2, 3, 4, 5])
        #expect(Self.numbers(relay.next(some)) == [1, 4])
        #expect(Self.numbers(relay.next(its)) == [6])
        // An event wakes only the readers that it is for, but all readers advance.
        #expect(relay.offer([Self.event(7, .started, "c")], after: 6, through: 7) == [all])
        #expect(relay.next(some) == .wait(at: 7) && relay.next(its) == .wait(at: 7))
    }

    @Test func `a reader that lets too much wait is cut, and no other`() throws {
        var limits = EventRelay.Limits()
        limits.buffered = 3
        var relay = EventRelay(limits: limits)
        let slow = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        let quick = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        for number in EventNumber(1)...4 {
            _ = relay.offer([Self.event(number)], after: number - 1, through: number)
            #expect(Self.numbers(relay.next(quick)) == [number])
        }
        #expect(relay.next(slow) == .cut)
        // The reader returns to its earlier position.
        relay.leave(slow)
        let again = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        #expect(relay.next(again) == .read(after: 0))
    }

    @Test func `there are so many readers, of an app and in all`() throws {
        var limits = EventRelay.Limits()
        (limits.readers, limits.readersOfApp) = (3, 2)
        var relay = EventRelay(limits: limits)
        let first = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        _ = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        #expect(throws: EventRelay.Refusal.tooManyOfApp(limit: 2)) {
            try relay.join(Sample.bundleID, EventFilter(), after: 0)
        }
        _ = try relay.join(Self.other, EventFilter(), after: 0)
        #expect(throws: EventRelay.Refusal.tooMany(limit: 3)) { try relay.join(Self.other, EventFilter(), after: 0) }
        relay.leave(first)
        _ = try relay.join(Self.other, EventFilter(), after: 0)
        #expect(relay.count == 3)
    }

    @Test func `when it closes everybody is cut, and whoever comes later`() throws {
        var relay = EventRelay()
        let reader = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        #expect(relay.close() == [reader])
        #expect(relay.next(reader) == .cut)
        let late = try relay.join(Sample.bundleID, EventFilter(), after: 0)
        #expect(relay.next(late) == .cut)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `whatever comes when, each reader gets each of its events once and in order`(seed: UInt64) throws {
        var dice = SeededDice(seed: seed)
        var limits = EventRelay.Limits()
        limits.buffered = 40
        var relay = EventRelay(limits: limits)
        var store: [StoredEvent] = []
        var got: [EventRelay.ReaderID: (from: EventNumber, filter: EventFilter, numbers: [EventNumber])] = [:]
        var offered = 0
        for _ in 0..<200 {
            switch dice.roll(6) {
            case 0 where got.count < 6:
                let from = EventNumber(dice.roll(store.count + 1))
                let filter = EventFilter(kinds: dice.chance(50) ? [.ended] : nil)
                got[try relay.join(Sample.bundleID, filter, after: from)] = (from, filter, [])
            case 1, 2:
                for _ in 0...dice.roll(4) {
                    store.append(
                        Self.event(EventNumber(store.count + 1), dice.chance(50) ? .ended : .started))
                }
            case 3:
                let end = offered + dice.roll(store.count - offered + 1)
                _ = relay.offer(
                    Array(store[offered..<end]), after: EventNumber(offered), through: EventNumber(end))
                offered = max(offered, end)
            default:
                guard let id = got.keys.sorted().randomized(&dice) else { continue }
                switch relay.next(id) {
                case .send(let events): got[id]?.numbers += events.map(\.number)
                case .read(let after):
                    let end = min(store.count, Int(after) + 1 + dice.roll(8))
                    relay.found(
                        store[Int(after)..<end].filter { got[id]?.filter.admits($0) ?? false },
                        through: EventNumber(end), for: id)
                case .wait: break
                case .cut: got[id] = nil
                }
            }
        }
        _ = relay.offer(Array(store[offered...]), after: EventNumber(offered), through: EventNumber(store.count))
        for (id, reader) in got {
            var numbers = reader.numbers
            loop: while true {
                switch relay.next(id) {
                case .send(let events): numbers += events.map(\.number)
                case .read(let after):
                    relay.found(
                        store[Int(after)...].filter { reader.filter.admits($0) }, through: EventNumber(store.count),
                        for: id)
                case .wait: break loop
                case .cut:
                    numbers = []
                    break loop
                }
            }
            let wanted = store[Int(reader.from)...].filter { reader.filter.admits($0) }.map(\.number)
            #expect(numbers.isEmpty || numbers == wanted, "seed \(seed)")
        }
    }
}

extension Array {
    fileprivate func randomized(_ dice: inout SeededDice) -> Element? { isEmpty ? nil : self[dice.roll(count)] }
}
