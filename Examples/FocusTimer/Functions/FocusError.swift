public import BackendCalls

/// A refusal of a call, in the codes that the app knows from its cloud functions.
public enum FocusError: Error, Hashable, Sendable {
    /// The call is wrong, so repeating it is useless.
    case invalidArgument(String)
    /// No such session, device or activity exists.
    case notFound(String)
    /// The session belongs to somebody else.
    case permissionDenied(String)
    /// Too many calls or timers. The same call may succeed later.
    case resourceExhausted(String)
    /// No valid answer came. The same call may be repeated.
    case unavailable(String)

    /// The code by which an app decides.
    public var code: String {
        switch self {
        case .invalidArgument: "invalid-argument"
        case .notFound: "not-found"
        case .permissionDenied: "permission-denied"
        case .resourceExhausted: "resource-exhausted"
        case .unavailable: "unavailable"
        }
    }

    /// Converts Islet's refusal, or returns `nil` if the call was accepted.
    ///
    /// The problem's stable code decides. If it is unknown, the status decides.
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
