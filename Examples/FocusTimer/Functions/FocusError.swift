public import BackendCalls

/// Why a call was refused, in the words that the app knows from its cloud functions.
public enum FocusError: Error, Hashable, Sendable {
    /// The call itself is wrong: repeating it is of no use.
    case invalidArgument(String)
    /// There is no such session, device or activity.
    case notFound(String)
    /// The session is somebody else's.
    case permissionDenied(String)
    /// Too much at once: the same call may be taken later.
    case resourceExhausted(String)
    /// Nobody answered as they should: the same call may be repeated.
    case unavailable(String)

    /// What an app decides by.
    public var code: String {
        switch self {
        case .invalidArgument: "invalid-argument"
        case .notFound: "not-found"
        case .permissionDenied: "permission-denied"
        case .resourceExhausted: "resource-exhausted"
        case .unavailable: "unavailable"
        }
    }

    /// Islet's refusal in these words; `nil` when the call was taken.
    ///
    /// Decided by the problem's code, which is stable, and where that is unknown by the status.
    public init?(_ answer: IsletAPI.Answer) {
        guard let code = answer.problem ?? (answer.isTaken ? nil : "") else { return nil }
        let detail = answer.detail ?? "status \(answer.status)"
        switch (code, answer.status) {
        case ("unknown_activity", _), ("unknown_device", _), (_, 404): self = .notFound(detail)
        case ("key_missing", _), ("key_invalid", _), ("scope_missing", _), (_, 403): self = .permissionDenied(detail)
        case ("overloaded", _), ("audience_too_large", _), (_, 429): self = .resourceExhausted(detail)
        case (_, 400..<500): self = .invalidArgument(detail)
        default: self = .unavailable(detail)
        }
    }
}
