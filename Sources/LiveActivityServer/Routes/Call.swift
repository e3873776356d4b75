import APNSModel
import HTTPTypes
import JSONText
import LiveActivityAPI
import LiveActivityCore
package import LiveActivityStorage
import LiveActivityTracing
import Logging
import Tracing

/// The store that the server needs.
package typealias ServerStore = StateStore & ReadStore & AdminStore & KeyStore & WebhookStore & ChannelStore

/// The shared resources of all calls.
struct Services: Sendable {
    let store: any ServerStore
    let apps: [BundleID: AppSettings]
    let limits: LiveActivityServer.Limits
    let time: TimeSource
    let dice: @Sendable () -> UInt64
    let logger: Logger
    /// The sources of metrics. They exist even if `GET /metrics` is turned off.
    let metrics: MetricsSources?
    let delivery: DeliverySources
    let httpMetrics: HTTPMetrics
    let streams: Places
    /// The configured webhooks of all apps.
    let webhooks: [WebhookKey: ToldWebhook]
    /// The readers of `GET /v1/events`.
    let events: EventReaders
    let admission: Admission
    let people: People
    let keyUses: KeyUses
    /// The time after which a device credential that was not used is no longer accepted.
    let credentialIdleLimit: Duration
    /// Returns the servers that share the database.
    let nodes: @Sendable () -> NodeList
    let figures: Figures
    /// `nil`: no spans are recorded.
    let traces: Traces?
    let alerts: AlertBoard
    /// `nil`: this server cannot parse the configuration's policies.
    let trials: PolicyTrials?
    let trialPlace = TrialPlace()
    let census: Census
    let metricsPage: SharedReading<String, Never>
    let startedAt: UnixTime
    let version: String
    /// `nil` if the console is turned off.
    let console: Console?

    /// Queries the store. Its failures become 503; their details go only to the log.
    func ask<Value>(_ question: () async throws(StorageError) -> Value) async throws(Problem) -> Value {
        do throws(StorageError) {
            return try await question()
        } catch {
            logger.error("the store failed", metadata: ["error": "\(error)"])
            throw Problem(error)
        }
    }

    /// Runs a command. The change is durable when this returns.
    func result<C: Command>(of command: C) async throws(Problem) -> C.Reply {
        let span = traces?.start("decide")
        span?.attributes["islet.command"] = C.name
        defer { span?.end() }
        let result = try await ask { () async throws(StorageError) in try await store.commit(command) }
        do throws(Refusal) { return try result.get() } catch { throw Problem(error) }
    }
}

/// An admitted call: its caller and its content.
struct Call: Sendable {
    let services: Services
    let caller: Caller
    let app: AppSettings
    let now: UnixTime
    let route: Route
    /// The parameters of the path, percent-decoded.
    let parameters: [String: String]
    let query: Query
    /// The body. `nil` if it is empty.
    let json: JSONValue?
    let conditions: Conditions
    /// The phone's credential that a person shows beside their own token, as it was sent.
    var shownCredential: String?
    /// `true` for one of many writes of a batch or stream. Its answer says nothing about phones.
    var isLine = false

    /// Returns an id in the path.
    ///
    /// - Throws: `invalid_id` if it is longer than 256 bytes or has a control character.
    func id<Kind>(
        _ name: String, _ kind: ForeignID<Kind>.Type = ForeignID<Kind>.self
    ) throws(Problem) -> ForeignID<Kind> {
        try Self.identifier(parameters[name])
    }

    /// Returns an id that a path has as this text.
    static func identifier<Kind>(_ text: String?) throws(Problem) -> ForeignID<Kind> {
        do throws(ForeignIDError) {
            return try ForeignID<Kind>(text ?? "")
        } catch {
            throw Problem(.invalidID, "\(error)", expected: "1 to 256 bytes without control characters")
        }
    }

    /// Decodes the body as a type of the API. Refuses an empty body, unless `empty` gives its meaning.
    func decode<Body: Decodable>(_ type: Body.Type, empty: JSONValue? = nil) throws(Problem) -> Body {
        guard let value = json ?? empty else { throw Problem(.invalidJSON, "this call needs a body", pointer: "") }
        do throws(JSONDecodingError) { return try value.decode(type) } catch { throw Problem(error) }
    }

    /// Parses a body as JSON. Returns `nil` for an empty body.
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

    /// Returns a configured type.
    ///
    /// - Throws: `unknown_type` if the app has no such type.
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

    /// Runs a command. The change is durable when this returns.
    ///
    /// If the call has an idempotency key that was used before, the first reply is returned again.
    func commit<C: Command>(_ command: C) async throws(Problem) -> Committed<C.Reply> where C.Reply: IdempotentReply {
        guard let key = conditions.key else {
            return Committed(reply: try await result(of: command), isReplayed: false)
        }
        return try await commit(command, key: key)
    }

    /// Runs a command under this idempotency key.
    func commit<C: Command>(
        _ command: C, key: IdempotencyKey
    ) async throws(Problem) -> Committed<C.Reply> where C.Reply: IdempotentReply {
        let answered = try await result(of: once(command, key))
        return Committed(reply: answered.reply, isReplayed: answered.isReplayed)
    }

    /// Runs a command, like ``commit(_:)``, and returns the activity with its phones as the command leaves them.
    func commit<C: Command>(
        _ command: C, withPhonesOf id: ActivityID
    ) async throws(Problem) -> (done: Committed<C.Reply>, found: ActivityWithPhones?) where C.Reply: IdempotentReply {
        guard let key = conditions.key else {
            let done = try await result(of: WithPhones(command, of: id, in: app.bundleID))
            return (Committed(reply: done.reply, isReplayed: false), done.found)
        }
        let done = try await result(of: WithPhones(once(command, key), of: id, in: app.bundleID))
        return (Committed(reply: done.reply.reply, isReplayed: done.reply.isReplayed), done.found)
    }

    private func once<C: Command>(_ command: C, _ key: IdempotencyKey) -> Idempotent<C> {
        Idempotent(command, app: app.bundleID, at: key.place(of: caller), digest: key.digest(of: self), now: now)
    }

    /// Runs a command without the call's idempotency key, as one step of a call that has its own answer.
    func result<C: Command>(of command: C) async throws(Problem) -> C.Reply {
        try await services.result(of: command)
    }

    /// Queries the store, like ``Services/ask(_:)``.
    func ask<Value>(_ question: () async throws(StorageError) -> Value) async throws(Problem) -> Value {
        try await services.ask(question)
    }
}

/// A reply, and whether it repeats the reply to an earlier call.
struct Committed<Reply: Sendable>: Sendable {
    let reply: Reply
    let isReplayed: Bool
}

/// The answer to a call that succeeds: JSON, except for metrics.
struct Answer: Sendable {
    let body: JSONValue
    let bytes: [UInt8]
    let contentType: String
    var headers: HTTPFields = [:]
    var isReplayed = false

    /// - Parameter revision: The activity's revision, for `ETag`.
    /// - Throws: `internal_error` if the value cannot be encoded, which is a bug of the server.
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

    /// Creates an answer that is not a JSON value of the call.
    init(bytes: [UInt8], contentType: String) {
        self.contentType = contentType
        self.bytes = bytes
        body = .null
    }
}
