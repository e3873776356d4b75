package import APNSModel

/// Number of an event. It grows with each event, over all apps, and is never reused.
package typealias EventNumber = Int64

/// Something that happened to a card, a token or a key, and that a backend may want to know.
///
/// An event is written in the commit of the change that it describes. It says which object is affected and why, but
/// contains no token, key, content or personal text.
package struct EventRecord: Sendable, Equatable {
    /// Kind of an event. The raw values are stored.
    package enum Kind: Int, Sendable, CaseIterable, Comparable {
        case started = 1
        case held = 2
        case dismissed = 3
        case ended = 4
        case renewed = 5
        case tokenDead = 6
        case fellBack = 7
        case parked = 8
        case keyHalted = 9

        /// Name in the API. It is stable.
        package var name: String {
            switch self {
            case .started: "started"
            case .held: "held"
            case .dismissed: "dismissed"
            case .ended: "ended"
            case .renewed: "renewed"
            case .tokenDead: "token-dead"
            case .fellBack: "fell-back"
            case .parked: "parked"
            case .keyHalted: "key-halted"
            }
        }

        package init?(name: some StringProtocol) {
            guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = kind
        }

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Token that is dead, or environment in which the key is halted. The raw values are stored.
    package enum Subject: String, Sendable, CaseIterable {
        case updateToken = "update"
        case pushToStartToken = "push-to-start"
        case deviceToken = "device"
        case sandbox = "sandbox"
        case production = "production"

        package init(_ environment: APNSEnvironment) {
            self = environment == .sandbox ? .sandbox : .production
        }

        package var isToken: Bool {
            switch self {
            case .updateToken, .pushToStartToken, .deviceToken: true
            case .sandbox, .production: false
            }
        }
    }

    package var kind: Kind
    package var app: BundleID
    package var at: UnixTime
    /// Activity of the event; `nil` if it is not about one activity. Events without an activity are ordered among
    /// themselves.
    package var activity: ActivityNumber?
    package var run: Int?
    package var device: DeviceKey?
    package var revision: Revision?
    /// Reason code. A reason's arguments are left out because they may quote text from others.
    package var reason: Reason.Code?
    package var subject: Subject?

    package init(_ kind: Kind, app: BundleID, at time: UnixTime) {
        self.kind = kind
        self.app = app
        at = time
    }

    /// Creates an event about a phone of an activity.
    package init(
        _ kind: Kind, _ activity: ActivityRecord, run: Int, on device: DeviceKey, revision: Revision,
        _ reason: Reason.Code?, at time: UnixTime
    ) {
        self.init(kind, app: activity.app, at: time)
        self.activity = activity.number
        self.run = run
        self.device = device
        self.revision = revision
        self.reason = reason
    }
}

/// Event as it is read: with its number and the ids of its activity and device. An id is `nil` if its object has been
/// erased since.
package struct StoredEvent: Sendable, Equatable {
    package var number: EventNumber
    package var record: EventRecord
    package var activity: ActivityID?
    package var device: DeviceID?

    package init(number: EventNumber, record: EventRecord, activity: ActivityID? = nil, device: DeviceID? = nil) {
        self.number = number
        self.record = record
        self.activity = activity
        self.device = device
    }
}

extension Draft {
    /// Records an event for the backend. It gets its number when it is written.
    package mutating func tell(_ event: EventRecord) {
        changes.events.append(event)
        onRefusal { draft in draft.changes.events.removeLast() }
        if event.kind == .tokenDead, let subject = event.subject, let reason = event.reason {
            count(.tokenDead(event.app, subject, reason))
        }
    }
}
