import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls that ask providers what people should see.
enum RefreshCalls {
    /// `POST /v1/users/{user}/refresh`: requests a computation of what a person should see, in the background and soon.
    ///
    /// Answers 200 once the request is durable. Many requests for one person are merged. A request during a computation
    /// causes another one.
    @Sendable static func ask(_ call: Call) async throws(Problem) -> Answer {
        let user: UserID = try call.id("user")
        let types = try types(call.decode(RefreshRequest.self, empty: .object([:])).type, call)
        let done = try await call.commit(
            AskRefresh(app: call.app.bundleID, users: [user], types: types, pace: .prompt, now: call.now))
        return try Answer(RefreshAskedAnswer(asked: done.reply.asked), isReplayed: done.isReplayed)
    }

    /// `GET /v1/users/{user}/refresh`: returns what was requested and computed, and why the last computation failed.
    @Sendable static func view(_ call: Call) async throws(Problem) -> Answer {
        let user: UserID = try call.id("user")
        let records = try await call.ask { () async throws(StorageError) in
            try await call.services.store.refreshes(of: user, in: call.app.bundleID)
        }
        return try Answer(RefreshView(refreshes: records.map { .init($0) }))
    }

    /// `POST /v1/refreshes`: requests computations for many people, at the configured pace.
    @Sendable static func askMany(_ call: Call) async throws(Problem) -> Answer {
        let request = try call.decode(RefreshesRequest.self)
        let types = try types(request.type, call)
        switch (request.users, request.all) {
        case (let texts?, nil), (let texts?, false): return try await ask(texts, types, call)
        case (nil, true): return try await askAll(types, call)
        default:
            throw .invalid(
                "/users", "exactly one of `users` and `all` must be set", expected: "`users`, or `all: true`")
        }
    }

    private static func ask(_ texts: [String], _ types: [String], _ call: Call) async throws(Problem) -> Answer {
        guard texts.count <= AskRefresh.maximumUsers else {
            throw .invalid(
                "/users", "too many people", expected: "at most \(AskRefresh.maximumUsers)", given: "\(texts.count)",
                fix: "send them in several calls, or `all: true`")
        }
        var users: [UserID] = []
        for (index, text) in texts.enumerated() { users.append(try Fields.id(text, at: "/users/\(index)")) }
        let done = try await call.commit(
            AskRefresh(app: call.app.bundleID, users: users, types: types, pace: .paced, now: call.now))
        return try Answer(RefreshAskedAnswer(asked: done.reply.asked), isReplayed: done.isReplayed)
    }

    /// Requests computations for everybody, a thousand people per commit. An interrupted call can be repeated without
    /// harm.
    private static func askAll(_ types: [String], _ call: Call) async throws(Problem) -> Answer {
        guard call.conditions.key == nil else {
            throw Problem(
                .invalidHeader, "asking for everybody takes no `Idempotency-Key`: it is many commits, and not kept",
                fix: "leave the header out: asking twice computes once")
        }
        var (asked, last) = (0, UserNumber(0))
        let limit = AskRefresh.maximumUsers
        while true {
            let from = last
            let people = try await call.ask { () async throws(StorageError) in
                try await call.services.store.people(of: call.app.bundleID, after: from, limit: limit)
            }
            guard let next = people.last?.number else { return try Answer(RefreshAskedAnswer(asked: asked)) }
            let command = AskRefresh(
                app: call.app.bundleID, users: people.map(\.id), types: types, pace: .paced, now: call.now)
            let result = try await call.ask { () async throws(StorageError) in
                try await call.services.store.commit(command)
            }
            if case .success(let reply) = result { asked += reply.asked }
            last = next
        }
    }

    private static func types(_ name: String?, _ call: Call) throws(Problem) -> [String] {
        let known = call.app.providedTypes
        guard let name else {
            guard !known.isEmpty else { throw noProvider("no activity type of this app has a provider", nil) }
            return known
        }
        let type = try call.type(name, pointer: "/type")
        guard type.isProvided else { throw noProvider("this activity type has no provider", "/type") }
        return [type.name]
    }

    private static func noProvider(_ detail: String, _ pointer: String?) -> Problem {
        Problem(
            .noProvider, detail, pointer: pointer,
            fix: "configure `provider` for the type, or set its activities' states with PUT")
    }
}

extension RefreshView.Refresh {
    fileprivate init(_ record: RefreshRecord) {
        self.init(
            type: record.type, asked: Int(record.asked), done: Int(record.done), running: record.node != nil,
            dueAt: record.node == nil ? record.dueAt.map { Instant($0) } : nil,
            finishedAt: record.finishedAt.map { Instant($0) }, tries: record.tries, failure: record.failure)
    }
}
