import APNSModel
import JSONText
import LiveActivityCore
import Logging
import Synchronization

/// An identity provider's public keys (RFC 7517) as of the last fetch.
package final class KeySet: Sendable {
    /// A fetched document, with the `Cache-Control` of its answer.
    package struct Document: Sendable {
        package var bytes: [UInt8]
        package var cacheControl: String?

        package init(bytes: [UInt8], cacheControl: String? = nil) {
            self.bytes = bytes
            self.cacheControl = cacheControl
        }
    }

    /// The reason why a fetch failed, as text for the log.
    package struct FetchFailure: Error, Sendable {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    package typealias Fetch = @Sendable () async throws(FetchFailure) -> Document

    /// Maximum size of a document in bytes, and maximum number of keys that are read from it.
    package static let maximumBytes = 256 * 1024
    static let maximumKeys = 100

    private struct State {
        var schedule: KeySetSchedule
        var keys: [PersonTokenKey] = []
    }

    /// The source of the keys: their URL.
    let source: String
    private let fetch: Fetch
    private let state: Mutex<State>

    package init(source: String, limits: KeySetSchedule.Limits = .init(), fetch: @escaping Fetch) {
        self.source = source
        self.fetch = fetch
        state = Mutex(State(schedule: KeySetSchedule(limits: limits)))
    }

    /// Takes the keys that another set has fetched from the same source, and goes on with its schedule.
    func goOn(from other: KeySet) {
        let before = other.state.withLock(\.self)
        state.withLock { state in
            state.keys = before.keys
            state.schedule.goOn(from: before.schedule)
        }
    }

    /// Returns the keys that may have signed a token with this `kid`.
    ///
    /// With a `kid`, they are the keys of that name. Without one, they are the keys without a name, and also a set's
    /// only key.
    func keys(for id: String?, at now: MonotonicTime) throws(TokenRejection) -> [PersonTokenKey] {
        try state.withLock { state throws(TokenRejection) in
            guard state.schedule.holds(at: now) else { throw .keysUnavailable }
            let found = state.keys.filter { id == nil ? $0.id == nil || state.keys.count == 1 : $0.id == id }
            guard found.isEmpty else { return found }
            // The key may be a new one, so the caller is asked to come again.
            guard id != nil, state.schedule.missed(at: now) else { throw .unknownKey }
            throw .keysUnavailable
        }
    }

    /// Fetches the set if a fetch is due.
    func refresh(_ time: TimeSource, _ logger: Logger) async {
        guard state.withLock({ $0.schedule.begin(at: time.monotonic()) }) else { return }
        do throws(FetchFailure) {
            let document = try await fetch()
            let (keys, passedOver) = try Self.keys(document.bytes)
            let isFirst = state.withLock { state in
                defer { state.keys = keys }
                state.schedule.succeeded(freshFor: Self.freshness(document.cacheControl), at: time.monotonic())
                return state.keys.isEmpty
            }
            logger.log(
                level: isFirst ? .info : .debug, "keys for people's tokens were fetched",
                metadata: ["from": "\(source)", "keys": "\(keys.count)", "passedOver": "\(passedOver)"])
        } catch {
            let now = time.monotonic()
            let holds = state.withLock { state in
                state.schedule.failed(at: now)
                return state.schedule.holds(at: now)
            }
            logger.warning(
                "keys for people's tokens could not be fetched",
                metadata: [
                    "from": "\(source)", "why": "\(error.description)",
                    "meanwhile": holds ? "those of before hold" : "people's tokens are not taken",
                ])
        }
    }

    /// Returns the keys that can verify tokens, and the number of others.
    static func keys(_ bytes: [UInt8]) throws(FetchFailure) -> (keys: [PersonTokenKey], passedOver: Int) {
        let limits = JSONLimits(bytes: maximumBytes, depth: 16, members: 10_000, keyLength: 1024)
        guard let list = (try? JSONValue(parsing: bytes, limits: limits))?.object?["keys"]?.array else {
            throw FetchFailure("it is no JSON object with `keys`")
        }
        let keys = list.prefix(maximumKeys).compactMap { $0.object }.compactMap { try? PersonTokenKey(jwk: $0) }
        guard !keys.isEmpty else { throw FetchFailure("it has no key of RSA, P-256 or Ed25519 for signatures") }
        return (keys, list.count - keys.count)
    }

    /// Returns the number of keys in a document that can verify tokens, and the number of others.
    package static func count(in bytes: [UInt8]) throws(FetchFailure) -> (keys: Int, passedOver: Int) {
        let (keys, passedOver) = try keys(bytes)
        return (keys.count, passedOver)
    }

    /// Returns the `max-age` of a `Cache-Control` header (RFC 9111 section 5.2.2). Returns 0 for `no-store` and
    /// `no-cache`.
    package static func freshness(_ header: String?) -> Duration? {
        guard let header else { return nil }
        let directives = header.lowercased().split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        if directives.contains("no-store") || directives.contains("no-cache") { return .zero }
        let age = directives.first { $0.hasPrefix("max-age=") }?.dropFirst("max-age=".count)
        return age.map { $0.filter { $0 != "\"" } }.flatMap { Int64($0) }.map { .seconds(min(max($0, 0), 31_536_000)) }
    }
}
