import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

struct WebhookTests {
    private static let key = WebhookKey(Sample.bundleID, "backend")

    private static func tell(_ store: SQLStore, _ count: Int = 1) async throws {
        _ = try await store.commit(
            PutRows { draft in
                for _ in 0..<count { draft.tell(EventRecord(.ended, app: Sample.bundleID, at: Sample.now)) }
            }
        ).get()
    }

    private static func delivery(_ number: EventNumber, dead: Bool = false) -> WebhookDelivery {
        WebhookDelivery(
            number: number, activity: number % 2 == 0 ? nil : 3, tries: Int(number), firstTriedAt: Sample.now,
            dueAt: Sample.now + .seconds(number), deadAt: dead ? Sample.now + .seconds(9) : nil, failure: "HTTP 500")
    }

    @Test func `one that nobody knows begins with what happens from now on`() async throws {
        try await withStores { store in
            try await Self.tell(store, 3)
            let state = try await store.webhook(Self.key)
            #expect(state == WebhookState(place: WebhookPlace(Self.key, position: 3)))
            try await Self.tell(store)
            #expect(try await store.webhook(Self.key) == state, "it is known now")
            #expect(try await store.webhooks() == [state.place])
        }
    }

    @Test func `what is written is what stands afterwards`() async throws {
        try await withStores { store in
            try await Self.tell(store, 9)
            var place = try await store.webhook(Self.key).place
            place.position = 12
            place.failures = 4
            place.failingSince = Sample.now
            place.disabledAt = Sample.now + .seconds(1)
            place.failure = "no answer within 15 s"
            let rows = [Self.delivery(2), Self.delivery(5), Self.delivery(7, dead: true)]
            #expect(try await store.save(WebhookProgress(place: place, rows: rows)))
            let state = try await store.webhook(Self.key)
            #expect(state.place == place && state.waiting == [Self.delivery(2), Self.delivery(5)])
            #expect(try await store.deadDeliveries(to: Self.key, after: 0, limit: 9) == [Self.delivery(7, dead: true)])
            #expect(try await store.deadDeliveries(to: Self.key, after: 7, limit: 9).isEmpty)
            #expect(try await store.deliveryCounts(of: Self.key) == (2, 1))
            #expect(try await store.save(WebhookProgress(place: place, done: [2, 5, 44])))
            #expect(try await store.webhook(Self.key).waiting.isEmpty)
            // Another webhook's rows are separate.
            let second = WebhookKey(Sample.bundleID, "x")
            _ = try await store.webhook(second)
            #expect(try await store.deliveryCounts(of: second) == (0, 0))
            #expect(try await store.deliveryCounts(of: Self.key) == (0, 1))
        }
    }

    @Test func `what somebody else changed is not written over`() async throws {
        try await withStores { store in
            let place = try await store.webhook(Self.key).place
            var off = place
            off.disabledAt = Sample.now
            off.failures = 9
            #expect(try await store.save(WebhookProgress(place: off)))
            #expect(try await store.enable(Self.key) == true)
            #expect(try await store.enable(Self.key) == false)
            #expect(try await store.enable(WebhookKey(Sample.bundleID, "x")) == nil)
            #expect(try await store.save(WebhookProgress(place: off)) == false)
            let now = try await store.webhook(Self.key).place
            #expect(now.disabledAt == nil && now.failures == 0 && now.version == 1)
            #expect(try await store.save(WebhookProgress(place: now)))
        }
    }

    @Test func `what is replayed waits again, as if it had not been tried`() async throws {
        try await withStores { store in
            try await Self.tell(store, 9)
            let place = try await store.webhook(Self.key).place
            let dead = [EventNumber](1...4).map { Self.delivery($0, dead: true) }
            #expect(try await store.save(WebhookProgress(place: place, rows: dead)))
            #expect(try await store.replay(.dead([2, 77]), to: Self.key, at: Sample.now) == 1)
            #expect(
                try await store.webhook(Self.key).waiting == [
                    WebhookDelivery(number: 2, activity: nil, failure: "HTTP 500")
                ])
            // A server with the earlier version must read it again.
            #expect(try await store.webhook(Self.key).place.version == place.version + 1)
            #expect(try await store.save(WebhookProgress(place: place)) == false)
            #expect(try await store.replay(.dead(nil), to: Self.key, at: Sample.now) == 3)
            #expect(try await store.webhook(Self.key).waiting.map(\.number) == [1, 2, 3, 4])
            #expect(try await store.replay(.everything(after: 6), to: Self.key, at: Sample.now) != nil)
            #expect(try await store.webhook(Self.key).place.position == 6)
            // The events in between are still to be sent, because nobody asked to leave them out.
            #expect(try await store.replay(.everything(after: 8), to: Self.key, at: Sample.now) != nil)
            #expect(try await store.webhook(Self.key).place.position == 6)
            #expect(try await store.replay(.dead(nil), to: WebhookKey(Sample.bundleID, "x"), at: Sample.now) == nil)
        }
    }

    @Test func `what is discarded is dead no more, and does not wait`() async throws {
        try await withStores { store in
            try await Self.tell(store, 9)
            let place = try await store.webhook(Self.key).place
            let rows = [EventNumber](1...4).map { Self.delivery($0, dead: $0 < 4) }
            #expect(try await store.save(WebhookProgress(place: place, rows: rows)))
            #expect(try await store.discard([2, 4, 77], of: Self.key) == 1)
            #expect(try await store.deliveryCounts(of: Self.key) == (1, 2))
            #expect(try await store.discard(nil, of: Self.key) == 2)
            #expect(try await store.webhook(Self.key).waiting.map(\.number) == [4])
            #expect(try await store.discard(nil, of: WebhookKey(Sample.bundleID, "x")) == nil)
        }
    }

    @Test func `rows about events that are erased go with them`() async throws {
        try await withStores { store in
            try await Self.tell(store, 9)
            let place = try await store.webhook(Self.key).place
            let rows = [Self.delivery(3), Self.delivery(4, dead: true), Self.delivery(8), Self.delivery(9, dead: true)]
            #expect(try await store.save(WebhookProgress(place: place, rows: rows)))
            var limits = PruneLimits()
            limits.eventCount = 4
            while try await store.prune(limits, at: Sample.now) {}
            #expect(try await store.webhook(Self.key).waiting.map(\.number) == [8])
            #expect(try await store.deadDeliveries(to: Self.key, after: 0, limit: 9).map(\.number) == [9])
        }
    }

    @Test func `an app's own flood erases what its endpoint was not told, and its place stays there`() async throws {
        try await withStores { store in
            let place = try await store.webhook(Self.key).place
            try await Self.tell(store, 9)
            var limits = PruneLimits()
            limits.eventCount = 4
            while try await store.prune(limits, at: Sample.now) {}
            let page = try await store.events(of: Sample.bundleID, EventFilter(), after: place.position, limit: 9)
            #expect(page.events.map(\.number) == [6, 7, 8, 9])
            // This tells the sender that it missed some events.
            #expect(try await store.webhook(Self.key).place.position < page.span.erasedThrough)
        }
    }

    @Test func `of each activity the first that wait are read, and the others are fetched in order`() async throws {
        try await withStores { store in
            let count = EventNumber(WebhookState.waitingOfOne)
            let place = try await store.webhook(Self.key).place
            let odd = (1...count + 20).map { WebhookDelivery(number: $0 * 2 - 1, activity: 3) }
            let even = (1...count).map { WebhookDelivery(number: $0 * 2, activity: nil) }
            #expect(try await store.save(WebhookProgress(place: place, rows: odd + even)))
            let state = try await store.webhook(Self.key)
            #expect(state.waiting.filter { $0.activity == 3 } == Array(odd.prefix(Int(count))))
            #expect(state.waiting.filter { $0.activity == nil } == even)
            #expect(state.parked == [3])
            #expect(try await store.save(WebhookProgress(place: place, done: state.waiting.map(\.number))))
            #expect(try await store.waiting(for: Self.key, of: 3, limit: 15) == Array(odd.suffix(20).prefix(15)))
            #expect(try await store.waiting(for: Self.key, of: nil, limit: 3).isEmpty)
        }
    }
}
