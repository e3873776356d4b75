import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
package import LiveActivityStorage
import LiveActivityTracing
import Logging
import Tracing

/// What every store of the server can do.
package typealias ServerStore = StateStore & ReadStore & AdminStore & KeyStore & WebhookStore

/// What calls work with.
struct Services: Sendable {
    let store: any ServerStore
    let apps: [BundleID: AppSettings]
    let limits: LiveActivityServer.Limits
    let time: TimeSource
    let dice: @Sendable () -> UInt64
    let logger: Logger
    /// What there is to read; `GET /metrics` may be turned off all the same.
    let metrics: MetricsSources?
    let delivery: DeliverySources
    let httpMetrics: HTTPMetrics
    let streams: Places
    /// Those that are configured, of all apps.
    let webhooks: [WebhookKey: ToldWebhook]
    /// Who reads `GET /v1/events`.
    let events: EventReaders
    let admission: Admission
    let people: People
    let keyUses: KeyUses
    /// A device credential that was not used for so long is not taken any more.
    let credentialIdleLimit: Duration
    let figures: Figures
    /// `nil`: there are no spans.
    let traces: Traces?
    let alerts: AlertBoard
    /// `nil`: nobody here knows the configuration's words.
    let trials: PolicyTrials?
    let trialPlace = TrialPlace()
    let census: Census
    let metricsPage: SharedReading<String, Never>
    let startedAt: UnixTime
    let version: String
    /// `nil` where it is turned off.
    let console: Console?

    /// Asks the store; its faults become 503, and its own words go to the log only.
    func ask<Value>(_ question: () async throws(StorageError) -> Value) async throws(Problem) -> Value {
        do throws(StorageError) {
            return try await question()
        } catch {
            logger.error("the store failed", metadata: ["error": "\(error)"])
            throw Problem(error)
        }
    }
}

/// A call that was let in: whose it is, and what it says.
struct Call: Sendable {
    let services: Services
    let caller: Caller
    let app: AppSettings
    let now: UnixTime
    let route: Route
    /// Percent-decoded.
    let parameters: [String: String]
    let query: Query
    /// The body; `nil` for an empty one.
    let json: JSONValue?
    let conditions: Conditions
    /// A credential of the phone that is shown beside a person's own token, as it was sent.
    var shownCredential: String?
    /// One of many writes of a batch or stream: answered without a look at the phones.
    var isLine = false

    /// An id in the path.
    ///
    /// - Throws: `invalid_id` for one over 256 bytes or with a control character.
    func id<Kind>(
        _ name: String, _ kind: ForeignID<Kind>.Type = ForeignID<Kind>.self
    ) throws(Problem) -> ForeignID<Kind> {
        do throws(ForeignIDError) {
            return try ForeignID<Kind>(parameters[name] ?? "")
        } catch {
            throw Problem(.invalidID, "\(error)", expected: "1 to 256 bytes without control characters")
        }
    }

    /// The body as a type of the API; an empty one is refused unless `empty` says what it means.
    func decode<Body: Decodable>(_ type: Body.Type, empty: JSONValue? = nil) throws(Problem) -> Body {
        guard let value = json ?? empty else { throw Problem(.invalidJSON, "this call needs a body", pointer: "") }
        do throws(JSONDecodingError) { return try value.decode(type) } catch { throw Problem(error) }
    }

    /// The bytes of a body as JSON; `nil` for none.
    static func parse(
        _ bytes: [UInt8], upTo limit: Int, _ limits: LiveActivityServer.Limits
    ) throws(Problem)
        -> JSONValue?
    {
        guard !bytes.isEmpty else { return nil }
        let limits = JSONLimits(bytes: limit, depth: limits.jsonDepth, members: limits.jsonValues)
        do throws(JSONSyntaxError) { return try JSONValue(parsing: bytes, limits: limits) } catch {
            throw Problem(error)
        }
    }

    /// A configured type.
    func type(_ name: String, pointer: String?) throws(Problem) -> ActivityType {
        if let type = app.types[name] { return type }
        let known = app.types.keys.sorted()
        let list = known.prefix(20).map { "`\($0)`" }.joined(separator: ", ") + (known.count > 20 ? ", …" : "")
        throw Problem(
            .unknownType, "this app has no such activity type; it has \(known.isEmpty ? "none" : list)",
            pointer: pointer, expected: known.isEmpty ? "a configured type" : "one of \(list)",
            given: Problem.quotable("\"\(name)\""),
            fix: "use a configured type, or add this one to the configuration")
    }

    /// Runs a command, durable when this returns. With an idempotency key, the second time gives the first reply.
    func commit<C: Command>(_ command: C) async throws(Problem) -> Committed<C.Reply> where C.Reply: IdempotentReply {
        guard let key = conditions.key else {
            return Committed(reply: try await result(of: command), isReplayed: false)
        }
        return try await commit(command, key: key)
    }

    /// The same under a key that the call has to have.
    func commit<C: Command>(
        _ command: C, key: IdempotencyKey
    ) async throws(Problem) -> Committed<C.Reply> where C.Reply: IdempotentReply {
        let once = Idempotent(
            command, app: app.bundleID, at: key.place(of: caller), digest: key.digest(of: self), now: now)
        let answered = try await result(of: once)
        return Committed(reply: answered.reply, isReplayed: answered.isReplayed)
    }

    /// Runs a command whatever idempotency key the call has: a step of a call that has its own answer.
    func result<C: Command>(of command: C) async throws(Problem) -> C.Reply {
        let store = services.store
        let span = services.traces?.start("decide")
        span?.attributes["islet.command"] = "\(C.self)"
        defer { span?.end() }
        let result = try await ask { () async throws(StorageError) in try await store.commit(command) }
        do throws(Refusal) { return try result.get() } catch { throw Problem(error) }
    }

    /// Asks the store, as `Services.ask`.
    func ask<Value>(_ question: () async throws(StorageError) -> Value) async throws(Problem) -> Value {
        try await services.ask(question)
    }
}

/// A reply, and whether an earlier call got it.
struct Committed<Reply: Sendable>: Sendable {
    let reply: Reply
    let isReplayed: Bool
}

/// What a call answers when it succeeds: JSON, the metrics aside.
struct Answer: Sendable {
    let body: JSONValue
    let bytes: [UInt8]
    let contentType: String
    var headers: HTTPFields = [:]
    var isReplayed = false

    /// - Parameter revision: The activity's, for `ETag`.
    /// - Throws: `internal_error` when the value cannot be written, which is our bug.
    init(_ value: some Encodable, revision: Revision? = nil, isReplayed: Bool = false) throws(Problem) {
        do throws(JSONEncodingError) {
            body = try JSONValue(encoding: value)
            bytes = body.bytes
            contentType = "application/json"
        } catch {
            throw Problem(.internalError, "the answer cannot be written")
        }
        headers[.eTag] = revision.map(Conditions.tag)
        self.isReplayed = isReplayed
        if isReplayed, let name = Conditions.replayed { headers[name] = "true" }
    }

    init(text: String, contentType: String) {
        self.init(bytes: Array(text.utf8), contentType: contentType)
    }

    /// What is no JSON value of a call's own.
    init(bytes: [UInt8], contentType: String) {
        self.contentType = contentType
        self.bytes = bytes
        body = .null
    }
}
