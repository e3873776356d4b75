#if canImport(os)
    internal import os
#endif

/// Writes events to the system's log. Console.app shows them with `subsystem:LiveActivityClient`. Ids of activities and
/// Live Activities are private there, so only a debugger shows them. No token is written in full.
struct EventLog: Sendable {
    #if canImport(os)
        private let logger = Logger(subsystem: "LiveActivityClient", category: "events")
    #endif

    func write(_ event: ClientEvent) {
        #if canImport(os)
            let (code, type) = (event.code.description, event.type ?? "")
            let rest = [event.activity, event.localID, event.detail].compactMap(\.self).joined(separator: " ")
            switch event.code {
            case .callRefused, .activityNotStarted, .credentialsRefused, .tokenDead:
                logger.error("\(code, privacy: .public) \(type, privacy: .public) \(rest, privacy: .private)")
            default:
                logger.notice("\(code, privacy: .public) \(type, privacy: .public) \(rest, privacy: .private)")
            }
        #endif
    }
}
