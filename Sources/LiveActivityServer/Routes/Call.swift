import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
package import LiveActivityStorage
import Logging

/// What every store of the server can do.
package typealias ServerStore = StateStore & ReadStore & AdminStore

/// What calls work with.
struct Services: Sendable {
    let store: any ServerStore
    let apps: [BundleID: AppSettings]
    let limits: LiveActivityServer.Limits
    let time: TimeSource
    let dice: @Sendable () -> UInt64
    let logger: Logger

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

/// A call that was let in: whose it is, and what it says. The body is not read as JSON yet.
struct Call: Sendable {
    let services: Services
    let app: AppSettings
    let now: UnixTime
    /// Percent-decoded.
    let parameters: [String: String]
    let query: Query
    let body: [UInt8]
    let bodyLimit: Int

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
        let value: JSONValue
        if body.isEmpty, let empty {
            value = empty
        } else {
            let limits = JSONLimits(
                bytes: bodyLimit, depth: services.limits.jsonDepth, members: services.limits.jsonValues)
            do throws(JSONSyntaxError) { value = try JSONValue(parsing: body, limits: limits) } catch {
                throw Problem(error)
            }
        }
        do throws(JSONDecodingError) { return try value.decode(type) } catch { throw Problem(error) }
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

    /// Runs a command, durable when this returns.
    func commit<C: Command>(_ command: C) async throws(Problem) -> C.Reply {
        let store = services.store
        let result = try await ask { () async throws(StorageError) in try await store.commit(command) }
        do throws(Refusal) { return try result.get() } catch { throw Problem(error) }
    }

    /// Asks the store, as `Services.ask`.
    func ask<Value>(_ question: () async throws(StorageError) -> Value) async throws(Problem) -> Value {
        try await services.ask(question)
    }
}

/// What a call answers when it succeeds: always JSON.
struct Answer: Sendable {
    let body: JSONValue

    /// - Throws: `internal_error` when the value cannot be written, which is our bug.
    init(_ value: some Encodable) throws(Problem) {
        do throws(JSONEncodingError) {
            body = try JSONValue(encoding: value)
        } catch {
            throw Problem(.internalError, "the answer cannot be written")
        }
    }
}
