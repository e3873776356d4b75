import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct EventTests {
    private static let other = Sample.bundle("com.acme.other")

    private static func event(
        _ kind: EventRecord.Kind = .started, app: BundleID = Sample.bundleID, at time: UnixTime = Sample.now,
        activity: ActivityNumber? = nil, device: DeviceKey? = nil
    ) -> EventRecord {
        var event = EventRecord(kind, app: app, at: time)
        event.activity = activity
        event.device = device
        return event
    }

    private static func tell(_ store: SQLStore, _ events: EventRecord...) async throws {
        _ = try await store.commit(PutRows { draft in for event in events { draft.tell(event) } }).get()
    }

    private static func all(
        _ store: SQLStore, of app: BundleID? = nil, _ filter: EventFilter = EventFilter(), after: EventNumber = 0,
        limit: Int = 1000
    ) async throws -> EventPage {
        try await store.events(of: app, filter, after: after, limit: limit)
    }

    // MARK: - Numbers

    @Test func `numbers grow by one in the order of the commits, and go on after a restart`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            var store = try SQLStore(path: path)
            #expect(try await store.eventSpan() == EventSpan(erasedThrough: 0, newest: 0))
            try await Self.tell(store, Self.event(), Self.event(.held))
            // A refused event gets no number.
            _ = try await store.commit(PutRows(refusal: .activityNotNamed) { $0.tell(Self.event()) })
            try await Self.tell(store, Self.event(.ended))
            #expect(try await Self.all(store).events.map(\.number) == [1, 2, 3])
            #expect(try await Self.all(store).events.map(\.record.kind) == [.started, .held, .ended])
            // All are erased, and their numbers are not used again.
            var limits = PruneLimits()
            limits.eventCount = 0
            while try await store.prune(limits, at: Sample.now) {}
            #expect(try await store.eventSpan() == EventSpan(erasedThrough: 3, newest: 3))
            store.close()
            store = try SQLStore(path: path)
            defer { store.close() }
            try await Self.tell(store, Self.event(.parked))
            #expect(try await Self.all(store, after: 3).events.map(\.number) == [4])
            let span = try await store.eventSpan()
            #expect(span == EventSpan(erasedThrough: 3, newest: 4))
            #expect([2, 3, 4, 5].map { span.holds(everythingAfter: $0) } == [false, true, true, false])
        }
    }

    @Test func `an event stands with the change it tells of, or neither does`() async throws {
        try await withStore { store in
            _ = try await store.commit(
                PutRows { draft in
                    draft.put(
                        TombstoneRecord(
                            device: 1, localID: Sample.local("x"), activity: 1, state: .gone, at: Sample.now))
                    draft.tell(Self.event(.ended, device: 1))
                }
            ).get()
            #expect(try await Self.all(store).events.count == 1)
            let rows = try await AllRows(store)
            #expect(rows.rows.tombstones.count == 1 && rows.events.count == 1)
        }
    }

    @Test func `the events of a UUID are found in either case`() async throws {
        try await withStore { store in
            let id = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
            let activity = ActivityRecord(
                number: 4, app: Sample.bundleID, id: Sample.activityID(id), type: "order", at: Sample.now)
            _ = try await store.commit(PutRows { $0.put(activity) }).get()
            try await Self.tell(store, Self.event(activity: 4, device: 7), Self.event(activity: 5, device: 7))
            for spelling in [id, id.uppercased()] {
                let filter = EventFilter(activity: Sample.activityID(spelling))
                let page = try await store.events(of: Sample.bundleID, filter, after: 0, limit: 10)
                #expect(page.events.map(\.record.activity) == [4])
            }
        }
    }

    @Test func `everything of an event is kept, and its ids are those that stand`() async throws {
        try await withStore { store in
            var dice = SeededDice(seed: 1)
            let activity = ActivityRecord(
                number: 4, app: Sample.bundleID, id: Sample.activityID("order-1"), type: "order", at: Sample.now)
            var told: [EventRecord] = []
            for kind in EventRecord.Kind.allCases {
                var event = Self.event(kind, activity: 4, device: 7)
                event.run = dice.roll(5)
                event.revision = Revision(dice.roll(50))
                event.reason = dice.pick(Reason.Code.allCases)
                event.subject = dice.pick(EventRecord.Subject.allCases)
                told.append(event)
            }
            let events = told
            _ = try await store.commit(
                PutRows { draft in
                    draft.put(activity)
                    draft.put(Sample.deviceRecord(7))
                    for event in events { draft.tell(event) }
                }
            ).get()
            let found = try await Self.all(store).events
            #expect(found.map(\.record) == told)
            #expect(Set(found.map(\.activity)) == [Sample.activityID("order-1")])
            #expect(Set(found.map(\.device)) == [Sample.device("device-7")])
            #expect(try await store.events(numbered: [2, 5, 77]).map(\.number) == [2, 5])
            // The number belongs to another app's activity, so its id is not revealed.
            try await Self.tell(store, Self.event(app: Self.other, activity: 4, device: 8))
            let foreign = try #require(try await Self.all(store, of: Self.other).events.first)
            #expect(foreign.activity == nil && foreign.device == nil && foreign.record.activity == 4)
        }
    }

    // MARK: - Reading

    @Test func `a page has what its app and filter let through, and says how far it looked`() async throws {
        try await withStore { store in
            let activity = ActivityRecord(
                number: 4, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now)
            _ = try await store.commit(PutRows { $0.put(activity) }).get()
            try await Self.tell(
                store, Self.event(.started, activity: 4), Self.event(.held), Self.event(.ended, app: Self.other),
                Self.event(.ended, activity: 4), Self.event(.held, activity: 4), Self.event(.parked))
            let mine = try await Self.all(store, of: Sample.bundleID)
            #expect(mine.events.map(\.number) == [1, 2, 4, 5, 6] && mine.through == 6)
            let some = try await Self.all(
                store, of: Sample.bundleID, EventFilter(activity: activity.id, kinds: [.ended, .started]))
            #expect(some.events.map(\.number) == [1, 4] && some.through == 6)
            let first = try await Self.all(store, of: Sample.bundleID, limit: 2)
            #expect(first.events.map(\.number) == [1, 2] && first.through == 2)
            let rest = try await Self.all(store, of: Sample.bundleID, after: first.through)
            #expect(rest.events.map(\.number) == [4, 5, 6] && rest.through == 6)
            let nothing = try await Self.all(store, of: Sample.bundleID, after: 6)
            #expect(nothing.events.isEmpty && nothing.through == 6)
        }
    }

    @Test func `a page looks at so many numbers at most, and is found by them`() async throws {
        try await withStore { store in
            let count = EventPage.maximumExamined + 10
            _ = try await store.commit(
                PutRows { draft in
                    for _ in 0..<count { draft.tell(Self.event(app: Self.other)) }
                    draft.tell(Self.event())
                }
            ).get()
            let first = try await Self.all(store, of: Sample.bundleID)
            #expect(first.events.isEmpty && first.through == EventNumber(EventPage.maximumExamined))
            let second = try await Self.all(store, of: Sample.bundleID, after: first.through)
            #expect(second.events.map(\.number) == [EventNumber(count + 1)])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `everybody who asked is woken by a commit that tells, and by no other`()
        async throws
    {
        try await withStore { store in
            var first = store.eventWakeUps().makeAsyncIterator()
            var second = store.eventWakeUps().makeAsyncIterator()
            _ = try await store.commit(PutRows { $0.put(Sample.deviceRecord(7)) }).get()
            try await Self.tell(store, Self.event())
            #expect(await first.next() != nil)
            #expect(await second.next() != nil)
            store.eventSubscribers.finish()
            #expect(await first.next() == nil)
        }
    }

    // MARK: - Clean-up

    @Test func `events go by age and by number, the oldest first, a page at a time`() async throws {
        try await withStore { store in
            for day in 0..<10 { try await Self.tell(store, Self.event(at: Sample.now - .seconds((10 - day) * 86_400))) }
            var limits = PruneLimits()
            limits.rows = 2
            #expect(try await store.prune(limits, at: Sample.now))
            #expect(try await store.eventSpan().erasedThrough == 2)
            while try await store.prune(limits, at: Sample.now) {}
            #expect(try await Self.all(store).events.map(\.number) == [4, 5, 6, 7, 8, 9, 10])
            limits.eventCount = 3
            while try await store.prune(limits, at: Sample.now) {}
            #expect(try await Self.all(store).events.map(\.number) == [8, 9, 10])
            #expect(try await store.eventSpan() == EventSpan(erasedThrough: 7, newest: 10))
            // A page from before the kept events begins with the first kept one.
            #expect(try await Self.all(store, after: 2).events.map(\.number) == [8, 9, 10])
        }
    }

    @Test func `an old time behind a newer one waits for it`() async throws {
        try await withStore { store in
            try await Self.tell(store, Self.event(at: Sample.now))
            try await Self.tell(store, Self.event(at: Sample.now - .seconds(30 * 86_400)))
            while try await store.prune(PruneLimits(), at: Sample.now) {}
            #expect(try await Self.all(store).events.count == 2)
        }
    }
}
