import APNSModel
import HTTPTypes
import Hummingbird
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

extension Responder {
    /// Authenticates the caller of ``join(_:_:as:_:from:)``.
    ///
    /// - Returns: `nil` for a request without a credential, if a type of some app lets anybody join.
    func joiner(_ request: Request) async throws(Problem) -> Caller? {
        guard request.headers[.authorization] == nil, services.apps.values.contains(where: \.isForAnybody) else {
            return try await authenticate(request)
        }
        return try await visitor(request)
    }

    /// `GET /v1/activities/{activity}/join`: returns what an app needs to start a card of the activity itself, and has
    /// the activity's channel made if there is none yet.
    ///
    /// A caller who may not join gets the answer to an unknown activity, so that nobody finds ids by trying.
    ///
    /// - Parameters:
    ///   - caller: The result of ``joiner(_:)``.
    ///   - address: The origin of the request, which limits calls without a credential.
    func join(
        _ route: Route, _ request: Request, as caller: Caller?, _ activity: String?, from address: String
    ) async throws(Problem) -> Answer {
        let now = services.time.monotonic()
        let place: Places.Place
        let own: AppSettings?
        if let caller {
            place = try services.admission.enter(caller)
            own = try authorize(caller, for: route)
            try services.admission.count(caller, device: nil, at: now)
        } else {
            try services.admission.countJoin(from: address, at: now)
            place = try services.admission.enterAnybody()
            own = nil
        }
        defer { withExtendedLifetime(place) {} }
        let query = try Query(request.uri.query, known: route.query)
        _ = try Conditions(request.headers, for: route)
        let id: ActivityID = try Call.identifier(activity)
        let environment = try Self.environment(query)
        guard let app = try meantApp(query["app"], of: own) else { throw Problem(Refusal.unknownActivity(id)) }
        let offer = try await offer(
            JoinActivity(
                app: app, id: id, joiner: Joiner(caller), environment: environment, now: services.time.wall()))
        return try Answer(DesiredStatesAnswer.DesiredState(offer))
    }

    /// Returns the offer of a command. Almost every one changes nothing, and then does not wait for the writer.
    private func offer(_ command: JoinActivity) async throws(Problem) -> JoinOffer {
        do throws(Problem) {
            let snapshot = try await services.ask { () async throws(StorageError) in
                try await services.store.snapshot(of: command.keys)
            }
            var draft = Draft(snapshot)
            let offer = draft.run(command)
            guard draft.changes.isEmpty else { return try await services.result(of: command) }
            do throws(Refusal) { return try offer.get() } catch { throw Problem(error) }
        } catch {
            guard error.code == .activityEnded else { throw error }
            // Only a backend could reopen it.
            throw Problem(.activityEnded, error.detail, fix: "start no card of it")
        }
    }

    /// Returns the app whose activity is meant.
    ///
    /// - Parameters:
    ///   - name: The bundle id in the query.
    ///   - own: The app of the caller's credential; `nil` without a credential.
    /// - Returns: `nil` if the caller may know of no activity of the named app.
    private func meantApp(_ name: String?, of own: AppSettings?) throws(Problem) -> AppSettings? {
        if let own { return name == nil || name == own.bundleID.text ? own : nil }
        let apps = services.apps.values.filter(\.isForAnybody)
        if let name { return apps.first { $0.bundleID.text == name } }
        guard apps.count == 1 else {
            throw Problem(
                .invalidQuery, "`app` is missing: without a credential, it says which app's activity is meant",
                expected: "the app's bundle id", fix: "add `?app=` with the bundle id")
        }
        return apps.first
    }

    private static func environment(_ query: Query) throws(Problem) -> APNSEnvironment? {
        guard let text = query["environment"] else { return nil }
        guard let environment = APNSEnvironment(rawValue: text) else {
            throw Problem(
                .invalidQuery, "`environment` is `sandbox` or `production`", expected: "sandbox or production")
        }
        return environment
    }
}

extension Joiner {
    fileprivate init(_ caller: Caller?) {
        switch caller {
        case nil: self = .anybody
        case .key?: self = .backend
        case .person(_, let user)?: self = .person(user)
        case .phone(_, let holder)?: self = .phone(holder.device, holder.user)
        }
    }
}
