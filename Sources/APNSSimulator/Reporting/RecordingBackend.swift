public import JSONText
internal import Synchronization

/// A backend that remembers what the phones said, and wants nothing: for tests.
public final class RecordingBackend: PhoneBackend {
    /// One call, in the order in which they came.
    public struct Call: Sendable, Hashable {
        /// Who called.
        public let phone: PhoneID
        /// What was said.
        public let request: PhoneRequest

        /// The body; empty when there is none.
        public var body: JSONObject { request.body.flatMap { try? JSONValue(parsing: $0) }?.object ?? [:] }
    }

    /// What a call fails with while failures are ordered.
    public struct Failure: Error, Sendable {}

    private let state = Mutex((calls: [Call](), failures: 0))

    /// A backend that has heard nothing.
    public init() {}

    /// Everything that was said and accepted.
    public var calls: [Call] { state.withLock { $0.calls } }

    /// What one phone said.
    public func calls(of phone: PhoneID) -> [Call] { calls.filter { $0.phone == phone } }

    /// The latest report of each card of a phone, by local id; an inventory counts too.
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

    /// The latest push-to-start token of a phone, as text.
    public func pushToStartToken(of phone: PhoneID) -> String? {
        calls(of: phone).last { $0.request.path.contains("/push-to-start-tokens/") }?.body["token"]?.string
    }

    /// The next calls, this many, throw `Failure`.
    public func failNext(_ count: Int) {
        state.withLock { $0.failures = count }
    }

    /// Remembers the call.
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
