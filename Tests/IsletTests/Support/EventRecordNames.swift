import LiveActivityAPI
import LiveActivityCore

/// Names of events, which must be equal in the core, the API and the embedded server.
enum EventRecordNames {
    static let all: Set<String> = {
        let core = Set(EventRecord.Kind.allCases.map(\.name))
        return core == Set(Event.Kind.allCases.map(\.rawValue)) ? core : []
    }()
}
