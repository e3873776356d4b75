public import JSONText
internal import Synchronization

/// A backend for tests that records all calls and wants nothing.
public final class RecordingBackend: PhoneBackend {
    /// A recorded call.
    public struct Call: Sendable, Hashable {
        /// The phone that called.
        public let phone: PhoneID
        /// The call's request.
        public let request: PhoneRequest

        /// The body; empty if the call has none.
        public var body: JSONObject { request.body.flatMap { try? JSONValue(parsing: $0) }?.object ?? [:] }
    }

    /// The error that calls throw after `failNext(_:)`.
    public struct Failure: Error, Sendable {}

    private let state = Mutex((calls: [Call](), failures: 0))

    /// Creates a backend without recorded calls.
    public init() {}

    /// All recorded calls, in their order. Failed calls are not recorded.
    public var calls: [Call] { state.withLock { $0.calls } }

    /// Returns the recorded calls of one phone.
    public func calls(of phone: PhoneID) -> [Call] { calls.filter { $0.phone == phone } }

    /// Returns the latest report of each card of a phone, by local id, including those in inventories.
    public func cards(of phone: PhoneID) -> [String: JSONObject] {
        var latest: [String: JSONObject] = [:]
        for call in calls(of: phone) {
            let parts = call.request.path.split(separator: "/")
            guard parts.count > 3, parts[3] == "instances" else { continue }
            if parts.count > 4 { latest[String(parts[4])] = call.body }
            for item in call.body["instances"]?.array?.compactMap(\.object) ?? [] {
                if let localID = item["localID"]?.string { latest[localID] = item }
            }
        }
        return latest
    }

    /// Returns the latest push-to-start token that a phone reported, as text.
    public func pushToStartToken(of phone: PhoneID) -> String? {
        calls(of: phone).last { $0.request.path.contains("/push-to-start-tokens/") }?.body["token"]?.string
    }

    /// Makes the next `count` calls throw ``Failure``.
    public func failNext(_ count: Int) {
        state.withLock { $0.failures = count }
    }

    /// Records the call.
    public func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse {
        let hasFailed = state.withLock { state in
            guard state.failures == 0 else {
                state.failures -= 1
                return true
            }
            state.calls.append(Call(phone: phone, request: request))
            return false
        }
        if hasFailed { throw Failure() }
        return PhoneResponse(status: 200, body: Array(#"{"activities":[]}"#.utf8))
    }
}
