import APNSModel
import Dispatch
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL

/// Tests of commands that share a transaction, on an audience larger than one call may name.
struct AudienceGroupTests {
    private static let id = Sample.activityID("game")

    private static func members(_ numbers: ClosedRange<Int>) -> [UserID] {
        numbers.map { Sample.user("member-\($0)") }
    }

    private static func put(_ users: [UserID]?) -> SetDesiredState {
        var body = SetDesiredState.Body(state: Sample.state(1))
        body.users = users
        return SetDesiredState(app: Sample.bundleID, id: id, type: Sample.type(), body: body, now: Sample.now)
    }

    private static func change(_ change: ChangeAudience.Change) -> ChangeAudience {
        ChangeAudience(app: Sample.bundleID, id: id, change: change, now: Sample.now)
    }

    /// Adds 1005 members. The last one has a phone.
    private static func gather(_ store: SQLStore) async throws {
        var body = RegisterDevice.Body(user: Sample.user("member-1005"))
        body.osVersion = OSVersion(18, 0)
        _ = try await store.commit(
            RegisterDevice(
                app: Sample.app(), id: Sample.device("phone"), body: body, now: Sample.now, freshKey: DeviceKey(1))
        ).get()
        _ = try await store.commit(put(members(1...1000))).get()
        _ = try await store.commit(change(.change(add: members(1001...1005), remove: []))).get()
    }

    @Test func `a state that names the audience leaves nobody behind whom a removal before it did not load`()
        async throws
    {
        try await withStores { store in
            try await Self.gather(store)
            let gate = store.block()
            let removal = store.submit(Self.change(.change(add: [], remove: Self.members(1...10))))
            let state = store.submit(Self.put(Self.members(11...12)))
            gate.signal()
            #expect(try await removal.result().get().get().members == 995)
            _ = try await state.result().get().get()
            let rows = try await AllRows(store).rows
            let activity = try #require(rows.activityNumbers[.init(Sample.bundleID, Self.id)])
            #expect(rows.members[activity]?.count == 2 && rows.audiences[activity]?.members == 2)
            #expect(rows.cards.values.allSatisfy { !$0.isWanted }, "who left is shown nothing more")
        }
    }

    @Test func `a replacement after a removal takes the members that stand then`() async throws {
        try await withStores { store in
            try await Self.gather(store)
            let gate = store.block()
            let removal = store.submit(Self.change(.change(add: [], remove: Self.members(1...10))))
            let replacement = store.submit(Self.change(.replace(Self.members(11...12))))
            gate.signal()
            _ = try await removal.result().get().get()
            let reply = try await replacement.result().get().get()
            #expect(reply.removed == 993 && reply.members == 2 && reply.isFinal)
        }
    }
}
