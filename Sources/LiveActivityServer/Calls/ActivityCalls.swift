import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// What backends call.
enum ActivityCalls {
    /// `PUT /v1/activities/{activity}`: sets what every phone of the audience should show.
    ///
    /// Answers 200 once it is durable, with what follows on how many phones; repeating it changes nothing.
    @Sendable static func set(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let reply = try await call.commit(try call.decode(ActivityRequest.self).command(of: id, in: call))
        return try await answer(reply, of: id, in: call)
    }

    /// `POST /v1/activities/{activity}/end`: ends it with a last state, and says when cards leave the lock screen.
    @Sendable static func end(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let request = try call.decode(EndRequest.self, empty: .object([:]))
        let reply = try await call.commit(try request.command(of: id, in: call))
        return try await answer(reply, of: id, in: call)
    }

    /// `GET /v1/activities/{activity}`: what should be shown, what is shown where, and why.
    @Sendable static func view(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let page = try PhonePage(call.query)
        let state = try await state(of: id, in: call)
        let counted = try await phones(of: state, after: -1, limit: call.services.limits.countedPhones, in: call)
        let shown: [PhoneSituation] =
            if let after = page.after {
                try await phones(of: state, after: after, limit: page.limit + 1, in: call)
            } else {
                Array(counted.prefix(page.limit + 1))
            }
        let outlook = Outlook(state, app: call.app, now: call.now, since: nil)
        return try Answer(ActivityView(state, counted: counted, page: shown, limit: page.limit, outlook: outlook))
    }

    /// `GET /v1/activities/{activity}/timeline`: what happened, oldest first.
    @Sendable static func timeline(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let page = try TimelinePage(call.query)
        let state = try await state(of: id, in: call)
        // One row more than needed, so that the last page is known to be the last.
        let rows = try await call.ask { () async throws(StorageError) in
            try await call.services.store.history(
                of: state.record.number, after: page.rowsAfter, limit: page.limit + 1)
        }
        let (entries, next) = page.cut(rows)
        let keys = Set(entries.compactMap(\.device)).sorted()
        let devices = try await call.ask { () async throws(StorageError) in
            try await call.services.store.deviceIDs(keys)
        }
        return try Answer(TimelineView(entries: entries.map { .init($0, devices: devices) }, next: next))
    }

    // MARK: - Shared

    private static func state(of id: ActivityID, in call: Call) async throws(Problem) -> ActivityState {
        let found = try await call.ask { () async throws(StorageError) in
            try await call.services.store.activity(call.app.bundleID, id)
        }
        guard let found else { throw Problem(Refusal.unknownActivity(id)) }
        return found
    }

    private static func phones(
        of state: ActivityState, after: DeviceKey, limit: Int, in call: Call
    ) async throws(Problem) -> [PhoneSituation] {
        try await call.ask { () async throws(StorageError) in
            try await call.services.store.phones(of: state.record.number, after: after, limit: limit)
        }
    }

    private static func answer(
        _ reply: SetDesiredState.Reply, of id: ActivityID, in call: Call
    ) async throws(Problem) -> Answer {
        let state = try await state(of: id, in: call)
        let counted = try await phones(of: state, after: -1, limit: call.services.limits.countedPhones, in: call)
        let outlook = Outlook(state, app: call.app, now: call.now, since: call.now)
        return try Answer(ActivityAnswer(reply, outlook.tally(counted), total: state.phones))
    }
}
