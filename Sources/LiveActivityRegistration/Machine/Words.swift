package import JSONText
package import LiveActivityAPI

/// A moment on a phone.
package struct PhoneMoment: Sendable, Hashable {
    /// Milliseconds since 1970 by the phone's clock, as it was set when the process began: people may set it.
    package var wall: Int
    /// Milliseconds that only grow, from any beginning within one process.
    package var steady: Int

    package init(wall: Int, steady: Int) {
        self.wall = wall
        self.steady = steady
    }
}

/// A card as ActivityKit tells of it.
package struct SeenCard: Sendable, Hashable {
    package var localID: String
    package var type: String
    /// The activity that its attributes name.
    package var activity: String?
    package var attributes: JSONObject?
    package var content: JSONObject?
    package var state: InstanceRequest.State
    package var token: TokenText?
    /// The broadcast channel whose pushes it shows, where that is known: it has no token.
    package var channel: String?

    package init(localID: String, type: String, state: InstanceRequest.State = .active) {
        self.localID = localID
        self.type = type
        self.state = state
    }
}

/// A card that is to be started on this phone.
package struct CardOrder: Sendable, Hashable {
    package var type: String
    package var activity: String?
    package var attributes: JSONObject
    package var content: JSONObject
    package var staleAt: Instant?
    /// Its place among other cards; `nil`: nobody said.
    package var relevance: Double?
    /// The broadcast channel whose pushes it is to show; `nil`: it is to have a token.
    package var channel: String?
    /// Whether it is over when the person turns to something else.
    package var isTransient = false
    /// When iOS is to show it, and what it says then; `nil`: at once, without a word.
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

/// What a content is shown with.
package struct CardPresentation: Sendable, Hashable {
    /// When the card is to look outdated; `nil`: never.
    package var staleAt: Instant?
    /// Its place among other cards; `nil`: the one that it has.
    package var relevance: Double?
    /// What the person is told of it, once; `nil`: nothing.
    package var alert: CardAlert?

    package init(staleAt: Instant? = nil, relevance: Double? = nil, alert: CardAlert? = nil) {
        self.staleAt = staleAt
        self.relevance = relevance
        self.alert = alert
    }
}

/// What an alert says.
package struct CardAlert: Sendable, Hashable {
    package var title: String
    package var body: String
    /// The name of a sound in the app; `nil`: the system's.
    package var sound: String?

    package init(title: String, body: String, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}

/// When an ended card leaves the lock screen.
package enum CardDismissal: Sendable, Hashable, Codable {
    /// When iOS likes, four hours later at most.
    case systemDefault
    case immediate
    /// At that time of the server's clock; iOS takes four hours at most.
    case at(Instant)
}

/// What the shell has to do, in this order, each before the next.
package enum ClientAction: Sendable, Hashable {
    /// Writes the memory down; whatever follows counts on it.
    case save
    case start(order: Int, CardOrder)
    /// - `change`: to be named when iOS has come back, with what the card holds then.
    /// - `timestamp`: seconds since 1970 by the server's clock; `nil`: not known, iOS takes its own.
    case update(change: Int, localID: String, content: JSONObject, CardPresentation, timestamp: Int?)
    case end(localID: String, content: JSONObject?, CardDismissal, timestamp: Int?)
    /// What lets this phone speak is another from now on.
    case change(PhoneCredentials.Change)
    case send(PhoneCall)
    /// Looks at everything again: iOS may have listed fewer cards than there are.
    case look
    case tell(PhoneNote)

    /// The server gave something to speak with.
    var isGain: Bool { if case .change(.keep) = self { true } else { false } }
}

/// An HTTP call to the server; there is never more than one under way.
package struct PhoneCall: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package enum Method: String, Sendable, Hashable { case put = "PUT", delete = "DELETE" }

    package let number: Int
    package let method: Method
    /// From the server's root, percent-encoded.
    package let path: String
    /// JSON.
    package let body: [UInt8]?
    /// Beside the person's own credential the one of before is shown, as a proof that this is the phone.
    package let showsProof: Bool

    package init(number: Int, method: Method, path: String, body: [UInt8]?, showsProof: Bool = false) {
        self.number = number
        self.method = method
        self.path = path
        self.body = body
        self.showsProof = showsProof
    }

    package var description: String { "\(method.rawValue) \(path)" }
    /// Bodies hold tokens.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the server said to a call.
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

    /// Why the server refused, in its stable word.
    package var code: String? { (try? JSONValue(parsing: body))?.object?["code"]?.string }
}

/// Something that an app may want to know or to log; tokens are masked.
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
    /// What it is about in a word: the kind of a token and its first characters, the code of a refusal.
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
