import APNSModel
import JSONText
import LiveActivityCore
import Logging
import Synchronization

/// An identity provider's public keys (RFC 7517), as they were fetched last.
package final class KeySet: Sendable {
    /// What was fetched: the document, and the answer's `Cache-Control`.
    package struct Document: Sendable {
        package var bytes: [UInt8]
        package var cacheControl: String?

        package init(bytes: [UInt8], cacheControl: String? = nil) {
            self.bytes = bytes
            self.cacheControl = cacheControl
        }
    }

    /// Why there is none, in words for the log.
    package struct FetchFailure: Error, Sendable {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    package typealias Fetch = @Sendable () async throws(FetchFailure) -> Document

    /// The most bytes of a document, and the most keys that are taken from it.
    package static let maximumBytes = 256 * 1024
    static let maximumKeys = 100

    private struct State {
        var schedule: KeySetSchedule
        var keys: [PersonTokenKey] = []
    }

    /// Where it comes from, for the log.
    private let source: String
    private let fetch: Fetch
    private let state: Mutex<State>

    package init(source: String, limits: KeySetSchedule.Limits = .init(), fetch: @escaping Fetch) {
        self.source = source
        self.fetch = fetch
        state = Mutex(State(schedule: KeySetSchedule(limits: limits)))
    }

    /// The keys that a token with this `kid` may be signed with: the one of that name, or, without a name, all that
    /// have none and the only one.
    func keys(for id: String?, at now: MonotonicTime) throws(TokenRejection) -> [PersonTokenKey] {
        try state.withLock { state throws(TokenRejection) in
            guard state.schedule.holds(at: now) else { throw .keysUnavailable }
            let found = state.keys.filter { id == nil ? $0.id == nil || state.keys.count == 1 : $0.id == id }
            guard found.isEmpty else { return found }
            // It may be a new one: then its caller is asked to come again.
            guard id != nil, state.schedule.missed(at: now) else { throw .unknownKey }
            throw .keysUnavailable
        }
    }

    /// Fetches the set if it is time to.
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

    /// The keys that can verify tokens; others are passed over.
    static func keys(_ bytes: [UInt8]) throws(FetchFailure) -> (keys: [PersonTokenKey], passedOver: Int) {
        let limits = JSONLimits(bytes: maximumBytes, depth: 16, members: 10_000, keyLength: 1024)
        guard let list = (try? JSONValue(parsing: bytes, limits: limits))?.object?["keys"]?.array else {
            throw FetchFailure("it is no JSON object with `keys`")
        }
        let keys = list.prefix(maximumKeys).compactMap { $0.object }.compactMap { try? PersonTokenKey(jwk: $0) }
        guard !keys.isEmpty else { throw FetchFailure("it has no key of RSA, P-256 or Ed25519 for signatures") }
        return (keys, list.count - keys.count)
    }

    /// How many keys of a document can verify tokens, and how many are passed over.
    package static func count(in bytes: [UInt8]) throws(FetchFailure) -> (keys: Int, passedOver: Int) {
        let (keys, passedOver) = try keys(bytes)
        return (keys.count, passedOver)
    }

    /// `max-age` of a `Cache-Control` (RFC 9111 section 5.2.2); none to be kept is fresh for no time.
    package static func freshness(_ header: String?) -> Duration? {
        guard let header else { return nil }
        let directives = header.lowercased().split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } }
        if directives.contains("no-store") || directives.contains("no-cache") { return .zero }
        let age = directives.first { $0.hasPrefix("max-age=") }?.dropFirst("max-age=".count)
        return age.map { $0.filter { $0 != "\"" } }.flatMap { Int64($0) }.map { .seconds(min(max($0, 0), 31_536_000)) }
    }
}
