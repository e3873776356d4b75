import LiveActivityCore
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

struct AnswerPhonesTests {
    @Test func `a group loads whole activities for its answers, a thousand phones at most`() async throws {
        try await withStores { store in
            let names = (1...30).map { "u\($0)" }
            for (index, name) in names.enumerated() {
                _ = try await store.commit(
                    RegisterDevice(
                        app: Sample.app(), id: Sample.device(name), body: .init(user: Sample.user(name)),
                        now: Sample.now, freshKey: DeviceKey(index + 1))
                ).get()
            }
            let ids = (1...40).map { Sample.activityID("\($0)") }
            for id in ids {
                var body = SetDesiredState.Body(state: Sample.state(1))
                body.users = names.map { Sample.user($0) }
                _ = try await store.commit(
                    SetDesiredState(app: Sample.bundleID, id: id, type: Sample.type(), body: body, now: Sample.now)
                ).get()
            }
            // A repeated key counts once.
            let keys = (ids + ids).map { SnapshotKey.activityWithPhones(Sample.bundleID, $0) }
            let part = try await store.query { sql in try SnapshotLoader.snapshot(of: keys, sql) }
            #expect(part.activities.count == 40)
            #expect(part.fewPhones.count == 33 && part.fewPhones.values.allSatisfy { $0.count == 30 })
            #expect(part.cards.count == 33 * 30)
        }
    }
}
