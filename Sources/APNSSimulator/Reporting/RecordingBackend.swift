public import APNSModel
internal import Synchronization

/// A backend that remembers what the phones said: for tests.
public final class RecordingBackend: PhoneBackend {
    /// One call, in the order in which they came.
    public enum Call: Sendable, Hashable {
        case register(PhoneID, DeviceReport)
        case pushToStartToken(PhoneID, type: String, token: PushToStartToken)
        case instance(PhoneID, InstanceReport)
        case inventory(PhoneID, sequence: Int, instances: [InstanceReport])
        case signOut(PhoneID)
        case call(PhoneID, PhoneRequest)

        /// Who called.
        public var phone: PhoneID {
            switch self {
            case .register(let phone, _), .pushToStartToken(let phone, _, _), .instance(let phone, _),
                .inventory(let phone, _, _), .signOut(let phone), .call(let phone, _):
                phone
            }
        }
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
    public func instances(of phone: PhoneID) -> [String: InstanceReport] {
        var latest: [String: InstanceReport] = [:]
        for call in calls(of: phone) {
            switch call {
            case .instance(_, let report): latest[report.localID] = report
            case .inventory(_, _, let reports): for report in reports { latest[report.localID] = report }
            case .register, .pushToStartToken, .signOut, .call: break
            }
        }
        return latest
    }

    /// The latest push-to-start token of a phone.
    public func pushToStartToken(of phone: PhoneID) -> PushToStartToken? {
        for call in calls(of: phone).reversed() {
            if case .pushToStartToken(_, _, let token) = call { return token }
        }
        return nil
    }

    /// The next calls, this many, throw `Failure`.
    public func failNext(_ count: Int) {
        state.withLock { $0.failures = count }
    }

    /// Remembers the call.
    public func register(_ phone: PhoneID, _ report: DeviceReport) async throws -> [DesiredCard] {
        try record(.register(phone, report))
    }

    /// Remembers the call.
    public func pushToStartToken(
        _ phone: PhoneID, type: String, token: PushToStartToken
    ) async throws -> [DesiredCard] {
        try record(.pushToStartToken(phone, type: type, token: token))
    }

    /// Remembers the call.
    public func instance(_ phone: PhoneID, _ report: InstanceReport) async throws -> [DesiredCard] {
        try record(.instance(phone, report))
    }

    /// Remembers the call.
    public func inventory(
        _ phone: PhoneID, sequence: Int, instances: [InstanceReport]
    ) async throws -> [DesiredCard] {
        try record(.inventory(phone, sequence: sequence, instances: instances))
    }

    /// Remembers the call.
    public func signOut(_ phone: PhoneID) async throws {
        _ = try record(.signOut(phone))
    }

    /// Remembers the call.
    public func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse {
        _ = try record(.call(phone, request))
        return PhoneResponse(status: 200)
    }

    private func record(_ call: Call) throws(Failure) -> [DesiredCard] {
        let failed = state.withLock { state in
            guard state.failures == 0 else {
                state.failures -= 1
                return true
            }
            state.calls.append(call)
            return false
        }
        if failed { throw Failure() }
        return []
    }
}
