import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import LiveActivityTracing

/// The calls of backends about activities.
enum ActivityCalls {
    /// `PUT /v1/activities/{activity}`: sets what every phone of the audience should show.
    ///
    /// Answers 200 once the change is durable, with the number of phones by what follows. A repeated call changes
    /// nothing.
    @Sendable static func set(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let request = try call.decode(ActivityRequest.self)
        var command = try request.command(of: id, in: call)
        command.preconditions = try call.preconditions(sequence: request.sequence)
        return try await write(command, of: id, in: call)
    }

    /// `PATCH /v1/activities/{activity}`: changes parts of the desired state. Absent members stay unchanged.
    @Sendable static func patch(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let request = try call.decode(PatchRequest.self)
        var command = try request.command(of: id, in: call)
        command.preconditions = try call.preconditions(sequence: request.sequence)
        return try await write(command, of: id, in: call)
    }

    /// `POST /v1/activities/{activity}/end`: ends an activity with a last state and a dismissal time.
    @Sendable static func end(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let request = try call.decode(EndRequest.self, empty: .object([:]))
        var command = try request.command(of: id, in: call)
        command.preconditions = try call.preconditions(sequence: request.sequence)
        return try await write(command, of: id, in: call)
    }

    /// `DELETE /v1/activities/{activity}`: ends an activity now. Its cards leave the lock screen at once.
    @Sendable static func delete(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        var command = EndActivity(
            app: call.app, id: id, state: nil, alert: nil, dismissal: .immediate, now: call.now)
        command.preconditions = try call.preconditions(sequenceText: call.query["sequence"])
        return try await write(command, of: id, in: call)
    }

    /// `GET /v1/activities/{activity}`: returns what should be shown, what each phone shows, and why.
    @Sendable static func view(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let page = try PhonePage(call.query)
        let state = try await state(of: id, in: call)
        try call.check(state.record)
        let counted = try await phones(of: state, after: -1, limit: call.services.limits.countedPhones, in: call)
        let shown: [PhoneSituation] =
            if let after = page.after {
                try await phones(of: state, after: after, limit: page.limit + 1, in: call)
            } else {
                Array(counted.prefix(page.limit + 1))
            }
        let outlook = Outlook(state, app: call.app, now: call.now, since: nil)
        return try Answer(
            ActivityView(state, counted: counted, page: shown, limit: page.limit, outlook: outlook),
            revision: state.record.revision)
    }

    /// `GET /v1/activities/{activity}/timeline`: returns what happened, the oldest first.
    @Sendable static func timeline(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        let page = try TimelinePage(call.query)
        let state = try await state(of: id, in: call)
        let number = state.record.number
        let (entries, next) = try await call.ask {
            () async throws(StorageError) -> (entries: [HistoryEntry], next: String?) in
            let store = call.services.store
            guard !page.isNewest else {
                return (page.end(of: try await store.latestHistory(of: number, limit: page.limit)), nil)
            }
            // One more row than needed shows whether there is a next page.
            return page.cut(try await store.history(of: number, after: page.rowsAfter, limit: page.limit + 1))
        }
        let keys = Set(entries.compactMap(\.device)).sorted()
        let devices = try await call.ask { () async throws(StorageError) in
            try await call.services.store.deviceIDs(keys)
        }
        guard try call.query.flag("payloads") else {
            return try Answer(TimelineView(entries: entries.map { .init($0, devices: devices) }, next: next))
        }
        // The rows of this page lack changes of earlier pages. The newest page usually has them.
        let latest = try await call.ask { () async throws(StorageError) in
            try await call.services.store.latestHistory(of: state.record.number, limit: TimelinePage.maximum)
        }
        let payloads = RebuiltPayloads(
            state, latest.flatMap(\.entries) + entries, type: call.app.types[state.record.type])
        let listed = entries.map { entry in
            var view = TimelineView.Entry(entry, devices: devices)
            let bytes = payloads.payload(of: entry)
            view.bytes = bytes?.count
            view.payload = bytes.flatMap { try? JSONValue(parsing: $0).object }
            return view
        }
        return try Answer(TimelineView(entries: listed, next: next))
    }

    // MARK: - Shared

    static func state(of id: ActivityID, in call: Call) async throws(Problem) -> ActivityState {
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

    /// Returns what follows on the phones, and their number.
    ///
    /// Each phone is examined. If there are too many for one call, the result is estimated from stored counts and a
    /// sample.
    static func tally(
        of found: ActivityWithPhones, in call: Call
    ) async throws(Problem) -> (tally: Outlook.Tally, total: Int) {
        var (state, few) = found
        if few == nil, state.phones <= Snapshot.maximumFewPhones {
            // The change itself has added a phone, for example. State and phones must be of one instant.
            let again = try await call.ask { () async throws(StorageError) in
                try await call.services.store.activityWithPhones(call.app.bundleID, state.record.id)
            }
            if let again { (state, few) = again }
        }
        let limits = call.services.limits
        let outlook = Outlook(state, app: call.app, now: call.now, since: call.now)
        if state.phones > limits.countedPhones {
            let sample = try await phones(of: state, after: -1, limit: limits.sampledPhones, in: call)
            return (outlook.tally(state.counts, sample: sample), state.phones)
        }
        if let few { return (outlook.tally(few), state.phones) }
        let all = try await phones(of: state, after: -1, limit: limits.countedPhones, in: call)
        return (outlook.tally(all), state.phones)
    }

    private static func write<C: Command>(
        _ command: C, of id: ActivityID, in call: Call
    ) async throws(Problem) -> Answer where C.Reply == SetDesiredState.Reply {
        if let dry = try DryRun(call) {
            let preview = try await dry.preview(command, of: id, in: call)
            var answer = ActivityAnswer(preview.reply, dry.tally(preview, call), total: preview.state.phones)
            answer.dryRun = true
            (answer.devices, answer.next) = dry.page(preview, call)
            return try Answer(answer, revision: preview.reply.revision)
        }
        let (done, found) =
            call.isLine
            ? (try await call.commit(command), nil) : try await call.commit(command, withPhonesOf: id)
        let (reply, isReplayed) = (done.reply, done.isReplayed)
        if reply.changed, !isReplayed {
            call.services.traces?.changed(app: call.app.bundleID.text, activity: id.text, revision: reply.revision)
        }
        if call.isLine {
            let short = BatchActivityAnswer(
                revision: Int(reply.revision), changed: reply.changed, phase: reply.phase.rawValue,
                superseded: reply.isSuperseded ? true : nil)
            return try Answer(short, revision: reply.revision, isReplayed: isReplayed)
        }
        guard let found else { throw Problem(Refusal.unknownActivity(id)) }
        let (tally, total) = try await tally(of: found, in: call)
        return try Answer(
            ActivityAnswer(reply, tally, total: total), revision: reply.revision, isReplayed: isReplayed)
    }
}
