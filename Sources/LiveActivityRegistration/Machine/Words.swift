package import JSONText
package import LiveActivityAPI

/// A moment by both clocks of a phone.
package struct PhoneMoment: Sendable, Hashable {
    /// Milliseconds since 1970 by the phone's clock as it was set when the process began. People may set it.
    package var wall: Int
    /// Milliseconds that only grow, from any beginning within one process.
    package var steady: Int

    package init(wall: Int, steady: Int) {
        self.wall = wall
        self.steady = steady
    }
}

/// A card as ActivityKit reports it.
package struct SeenCard: Sendable, Hashable {
    package var localID: String
    package var type: String
    /// The activity that the attributes name.
    package var activity: String?
    package var attributes: JSONObject?
    package var content: JSONObject?
    package var state: InstanceRequest.State
    package var token: TokenText?
    /// The broadcast channel whose pushes the card shows, if that is known. Such a card has no token.
    package var channel: String?

    package init(localID: String, type: String, state: InstanceRequest.State = .active) {
        self.localID = localID
        self.type = type
        self.state = state
    }
}

/// An order for a card on this phone.
package struct CardOrder: Sendable, Hashable {
    package var type: String
    package var activity: String?
    package var attributes: JSONObject
    package var content: JSONObject
    package var staleAt: Instant?
    /// The rank among the app's cards, or `nil` if none was given.
    package var relevance: Double?
    /// The broadcast channel whose pushes the card is to show, or `nil` for an update token.
    package var channel: String?
    /// `true` if the card ends when the person turns to something else.
    package var isTransient = false
    /// The date and alert with which iOS shows the card, or `nil` to show it at once without an alert.
    package var schedule: Schedule?

    package struct Schedule: Sendable, Hashable {
        package var at: Instant
        package var alert: CardAlert

        package init(at: Instant, alert: CardAlert) {
            self.at = at
            self.alert = alert
        }
    }

    package init(
        type: String, activity: String?, attributes: JSONObject, content: JSONObject, staleAt: Instant? = nil,
        relevance: Double? = nil
    ) {
        self.relevance = relevance
        self.type = type
        self.activity = activity
        self.attributes = attributes
        self.content = content
        self.staleAt = staleAt
    }
}

/// The presentation of a content.
package struct CardPresentation: Sendable, Hashable {
    /// The time from which the card looks outdated, or `nil` for never.
    package var staleAt: Instant?
    /// The rank among the app's cards, or `nil` to keep the present one.
    package var relevance: Double?
    /// An alert for the person, once, or `nil` for none.
    package var alert: CardAlert?

    package init(staleAt: Instant? = nil, relevance: Double? = nil, alert: CardAlert? = nil) {
        self.staleAt = staleAt
        self.relevance = relevance
        self.alert = alert
    }
}

/// The texts and sound of an alert.
package struct CardAlert: Sendable, Hashable {
    package var title: String
    package var body: String
    /// The name of a sound in the app, or `nil` for the system's sound.
    package var sound: String?

    package init(title: String, body: String, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}

/// A rule for when an ended card leaves the lock screen.
package enum CardDismissal: Sendable, Hashable, Codable {
    /// A time that iOS decides, at most four hours later.
    case systemDefault
    case immediate
    /// At this time of the server's clock. iOS accepts at most four hours.
    case at(Instant)
}

/// An action of the shell. Actions are performed in order, each before the next.
package enum ClientAction: Sendable, Hashable {
    /// Saves the memory. Later actions depend on it.
    case save
    case start(order: Int, CardOrder)
    /// Updates a card.
    ///
    /// - `change`: the number to report when iOS has returned, with what the card holds then.
    /// - `timestamp`: seconds since 1970 by the server's clock, or `nil` if unknown; iOS then takes its own time.
    case update(change: Int, localID: String, content: JSONObject, CardPresentation, timestamp: Int?)
    case end(localID: String, content: JSONObject?, CardDismissal, timestamp: Int?)
    /// Changes the kept credentials.
    case change(PhoneCredentials.Change)
    case send(PhoneCall)
    /// Reads everything again, because iOS may have listed fewer cards than there are.
    case look
    case tell(PhoneNote)

    /// `true` if the server gave a new credential.
    var isGain: Bool { if case .change(.keep) = self { true } else { false } }
}

/// An HTTP call to the server. There is never more than one under way, apart from those that join an activity.
package struct PhoneCall: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package enum Method: String, Sendable, Hashable { case get = "GET", put = "PUT", delete = "DELETE" }

    package let number: Int
    package let method: Method
    /// The path from the server's root, percent-encoded, with the query if there is one.
    package let path: String
    /// The JSON body, or `nil` for none.
    package let body: [UInt8]?
    /// `true` if the call also shows the previous credential, which proves that this is the phone.
    package let showsProof: Bool

    package init(number: Int, method: Method, path: String, body: [UInt8]?, showsProof: Bool = false) {
        self.number = number
        self.method = method
        self.path = path
        self.body = body
        self.showsProof = showsProof
    }

    package var description: String { "\(method.rawValue) \(path)" }
    /// An empty mirror, because bodies contain tokens.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The server's answer to a call.
package struct PhoneAnswer: Sendable {
    package var status: Int
    package var body: [UInt8]
    /// The header `Date`, in seconds since 1970.
    package var date: Int?

    package init(status: Int, body: [UInt8] = [], date: Int? = nil) {
        self.status = status
        self.body = body
        self.date = date
    }

    /// The stable code of the server's refusal.
    package var code: String? { (try? JSONValue(parsing: body))?.object?["code"]?.string }
}

/// An event for the app or its log. Tokens are masked.
package struct PhoneNote: Sendable, Hashable {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case tokenObtained, tokenSent, tokenConfirmed, tokenDead
        case deviceConfirmed, signedOut
        case activitySeen, activityConfirmed, activityStarted, activityStartedWithoutServer, activityLeftToServer,
            activityNotStarted
        case activityPostponed
        case stateApplied, endApplied, duplicateEnded, activityDismissed, activityGone, activityOpened
        case credentialsRefused, callRefused, serverUnreachable
    }

    package var code: Code
    package var type: String?
    package var activity: String?
    package var localID: String?
    /// A short detail: the kind of a token and its first characters, or the code of a refusal.
    package var detail: String?

    package init(
        _ code: Code, type: String? = nil, activity: String? = nil, localID: String? = nil, detail: String? = nil
    ) {
        self.code = code
        self.type = type
        self.activity = activity
        self.localID = localID
        self.detail = detail
    }
}
