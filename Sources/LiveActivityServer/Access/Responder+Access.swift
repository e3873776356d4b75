import APNSModel
import HTTPTypes
import Hummingbird
import LiveActivityCore
import LiveActivityStorage
import Logging

extension Responder {
    /// Authenticates a request (RFC 6750) as the holder of a key, a person or a phone.
    ///
    /// Unknown, wrong and revoked keys look the same in the answer and in its time. So do credentials.
    func authenticate(_ request: Request) async throws(Problem) -> Caller {
        guard let header = request.headers[.authorization] else {
            if let visitor = try await visitor(request) { return visitor }
            throw Problem(
                .keyMissing, "this call needs an API key",
                fix: "send `Authorization: Bearer KEY`; `islet keys create` makes one",
                headers: [.wwwAuthenticate: #"Bearer realm="islet""#])
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Self.invalidKey }
        let text = String(parts[1])
        if text.hasPrefix(PhoneCredential.prefix) { return try await phone(text) }
        if text.hasPrefix(APIKey.prefix) { return try await holder(text) }
        guard !services.people.isEmpty else { throw Self.invalidKey }
        return try await person(text)
    }

    // MARK: - Keys

    func holder(_ text: String) async throws(Problem) -> Caller {
        guard let key = APIKey(text) else { throw Self.invalidKey }
        let record = try await services.ask { () async throws(StorageError) in try await services.store.key(key.id) }
        // The secret is checked before the record's presence, so that the time does not reveal which keys exist.
        guard key.isProven(by: record), let record else { throw Self.invalidKey }
        try use(record)
        return .key(record)
    }

    /// Checks that a key that was proven before is still valid.
    func check(_ id: String) async throws(Problem) {
        let record = try await services.ask { () async throws(StorageError) in try await services.store.key(id) }
        guard let record else { throw Self.invalidKey }
        try use(record)
    }

    private func use(_ record: APIKeyRecord) throws(Problem) {
        let now = services.time.wall()
        switch record.standing(at: now) {
        case .revoked: throw Self.invalidKey
        case .expired:
            throw Self.unauthorized(
                .keyExpired, "this key has expired", fix: "make another: `islet keys create`")
        case .valid: break
        }
        services.keyUses.note(record, at: now)
    }

    private static let invalidKey = unauthorized(.keyInvalid, "this key is unknown, wrong or revoked")

    private static func unauthorized(_ code: Problem.Code, _ detail: String, fix: String? = nil) -> Problem {
        Problem(
            code, detail, fix: fix, headers: [.wwwAuthenticate: #"Bearer realm="islet", error="invalid_token""#])
    }

    // MARK: - People

    private func person(_ text: String) async throws(Problem) -> Caller {
        do throws(TokenRejection) {
            let (app, user) = try await services.people.person(
                of: text, at: services.time.wall(), services.time.monotonic())
            return .person(app: app, user: user)
        } catch {
            services.logger.debug("a person's token is not taken", metadata: ["why": "\(error.rawValue)"])
            switch error {
            case .expired:
                throw Self.unauthorized(
                    .tokenExpired, "this token has expired", fix: "sign in anew, and repeat the call")
            case .keysUnavailable:
                throw Problem(
                    .keysUnavailable, "the keys that this token is verified with are being fetched",
                    fix: "repeat the call", headers: [.retryAfter: "1"])
            default: throw Self.unauthorized(.tokenInvalid, "no app of this server accepts this token")
            }
        }
    }

    // MARK: - Phones

    private func phone(_ text: String) async throws(Problem) -> Caller {
        guard let (device, hash) = try await proven(text) else {
            throw Self.unauthorized(
                .credentialInvalid,
                "this device credential is unknown, wrong, revoked, or expired because it was not used",
                fix: "ask for another with the person's own token: `wantsCredential` of PUT /v1/devices/{device}")
        }
        return .phone(
            app: device.app, PhoneCredentialHolder(device: device.key, user: device.userID, secretHash: hash))
    }

    /// Returns the device of a credential, and the hash under which the credential is stored.
    func proven(_ text: String) async throws(Problem) -> (device: DeviceRecord, hash: [UInt8])? {
        guard let credential = PhoneCredential(text) else { return nil }
        let device = try await services.ask { () async throws(StorageError) in
            try await services.store.device(credential.device)
        }
        let hash = credential.proven(by: device, at: services.time.wall(), idleLimit: services.credentialIdleLimit)
        guard let hash, let device, device.signedOutAt == nil else { return nil }
        return (device, hash)
    }

    // MARK: - Permissions

    /// Returns the caller's app if the caller may make this call.
    func authorize(_ caller: Caller, for route: Route) throws(Problem) -> AppSettings {
        switch caller {
        case .key(let key):
            if !route.scopes.contains(where: key.scope.covers) { throw Self.missing(route, given: key.scope.rawValue) }
        case .person, .phone:
            if !route.isForPhones { throw Self.missing(route, given: nil) }
        }
        guard let app = services.apps[caller.app] else {
            throw Problem(
                .appNotConfigured, "this key is for the app \(caller.app), which this server is not configured for",
                fix: "add the app to the configuration, or use a key of another app")
        }
        return app
    }

    private static func missing(_ route: Route, given: String?) -> Problem {
        let scope = route.scopes.first?.rawValue ?? ""
        return Problem(
            .scopeMissing,
            "this call needs a key of the scope `\(scope)`; "
                + (given.map { "this one has `\($0)`" } ?? "people and phones may not make it"),
            expected: scope, given: given, fix: "make one: islet keys create --app APP --scope \(scope)",
            headers: [.wwwAuthenticate: #"Bearer realm="islet", error="insufficient_scope", scope="\#(scope)""#])
    }
}

extension Caller {
    /// The party whose word a phone's call relies on.
    var reporter: Reporter {
        switch self {
        case .key: .backend
        case .person(_, let user): .person(user)
        case .phone(_, let holder): .phone(holder.device, holder.user, secretHash: holder.secretHash)
        }
    }
}
