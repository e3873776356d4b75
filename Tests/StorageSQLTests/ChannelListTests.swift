import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

/// Lists of broadcast channels, on each kind of database.
struct ChannelListTests {
    private static let other = Sample.bundle("com.acme.taxi")

    /// Writes five channels of three activities, one of which is another app's, and one of an erased activity.
    private static func fill(_ store: SQLStore) async throws {
        let put = PutRows { draft in
            let first = Sample.addActivity(to: &draft)
            let theirs = Sample.addActivity(of: Self.other, to: &draft)
            let last = Sample.addActivity(to: &draft)
            let keys: [(ActivityNumber, APNSEnvironment, Int)] = [
                (first, .sandbox, 1), (first, .sandbox, 2), (first, .production, 2),
                (theirs, .production, 1), (last, .production, 1), (99, .production, 1),
            ]
            for (number, environment, run) in keys {
                var channel = ChannelRecord(
                    ChannelKey(number, environment, run: run), app: number == theirs ? Self.other : Sample.bundleID,
                    storage: .none)
                if number != last, let id = ChannelID("AAAA\(1000 + number)") { channel.open(id) }
                draft.put(channel)
            }
            for id in ["BBBB1111", "BBBB2222"].compactMap({ ChannelID($0) }) {
                draft.put(StrangerKey(PushRoute(Sample.bundleID, .sandbox), id))
                draft.put(StrangerKey(PushRoute(Self.other, .sandbox), id))
            }
        }
        _ = try await store.commit(put).get()
    }

    private static func pages(_ store: SQLStore, of app: BundleID?, limit: Int) async throws -> [[ChannelPage.Row]] {
        var pages: [[ChannelPage.Row]] = []
        var after: ChannelKey?
        repeat {
            let page = try await store.channels(of: app, after: after, limit: limit)
            pages.append(page.rows)
            after = page.next
        } while after != nil
        return pages
    }

    @Test func `channels come by pages, those of the newest activities first, with their activities`() async throws {
        try await withStores { store in
            try await Self.fill(store)
            let all = try await Self.pages(store, of: Sample.bundleID, limit: 1000)
            #expect(all.count == 1)
            let rows = try #require(all.first)
            #expect(
                rows.map(\.record.key) == [
                    ChannelKey(99, .production, run: 1), ChannelKey(3, .production, run: 1),
                    ChannelKey(1, .sandbox, run: 2), ChannelKey(1, .production, run: 2),
                    ChannelKey(1, .sandbox, run: 1),
                ])
            #expect(rows.map(\.activity?.number) == [nil, 3, 1, 1, 1])
            for limit in 1...6 {
                let pages = try await Self.pages(store, of: Sample.bundleID, limit: limit)
                #expect(Array(pages.joined()) == rows, "\(limit)")
                #expect(pages.dropLast().allSatisfy { $0.count == limit } && pages.last?.isEmpty == false, "\(limit)")
            }
            let ofAll = try await Self.pages(store, of: nil, limit: 4)
            #expect(ofAll.map(\.count) == [4, 2])
            let theirs = ofAll.joined().filter { $0.record.app == Self.other }
            #expect(theirs.map(\.activity?.number) == [2])
            #expect(try await Self.pages(store, of: Self.other, limit: 4).map(\.count) == [1])
        }
    }

    @Test func `an activity that is being erased is none of a channel's`() async throws {
        try await withStores { store in
            try await Self.fill(store)
            _ = try await store.write { sql in
                try sql.execute("UPDATE activity SET app = 'islet.erased' WHERE no = 1")
            }
            let rows = try await store.channels(of: Sample.bundleID, after: nil, limit: 10).rows
            #expect(rows.map(\.activity?.number) == [nil, 3, nil, nil, nil])
        }
    }

    @Test func `the channels that exist are counted by route, and so are those of others`() async throws {
        try await withStores { store in
            #expect(try await store.channelCounts(of: nil).isEmpty)
            #expect(try await store.channels(of: nil, after: nil, limit: 10) == ChannelPage(rows: [], next: nil))
            try await Self.fill(store)
            var sandbox = ChannelCounts()
            (sandbox.own, sandbox.foreign) = (2, 2)
            // The channel of the third activity does not exist yet.
            var production = ChannelCounts()
            production.own = 2
            let own = [
                PushRoute(Sample.bundleID, .sandbox): sandbox, PushRoute(Sample.bundleID, .production): production,
            ]
            #expect(try await store.channelCounts(of: Sample.bundleID) == own)
            let all = try await store.channelCounts(of: nil)
            #expect(all.count == 4 && all[PushRoute(Self.other, .sandbox)]?.foreign == 2)
            #expect(all[PushRoute(Self.other, .production)]?.own == 1)
        }
    }

    @Test func `the ids of a route's channels are those of activities and those of others`() async throws {
        try await withStores { store in
            try await Self.fill(store)
            let route = PushRoute(Sample.bundleID, .sandbox)
            let theirs = ["BBBB1111", "BBBB2222"].compactMap { ChannelID($0) }
            let ours = Set(["AAAA1001"].compactMap { ChannelID($0) })
            #expect(try await store.channelIDs(on: route) == RouteChannels(own: ours, foreign: theirs))
            #expect(try await store.channelIDs(on: PushRoute(Self.other, .sandbox)).foreign == theirs)
            // Of the production channels, that of the third activity does not exist yet.
            let production = try await store.channelIDs(on: PushRoute(Sample.bundleID, .production))
            #expect(production.own.map(\.text).sorted() == ["AAAA1001", "AAAA1099"] && production.foreign.isEmpty)
        }
    }
}
