internal import JSONText
package import LiveActivityAPI

/// The result of an app's wish to join an activity.
package enum JoinOutcome: Sendable, Hashable {
    /// The app may start this card.
    case offered(CardOrder)
    /// This card shows the activity. The server may not know yet that the card is over.
    case shown(localID: String)
    /// The app may start no card of the activity on this phone now.
    case notOffered
    /// The activity has this type, not the one that the app meant.
    case typeDiffers(String)
    /// There is no such activity, or the person may not join it.
    case unknownActivity
    case activityEnded
    case nobodySignedIn
    case credentialsRefused
    /// The server accepts no more calls for now.
    case rateLimited
    /// The server refused the call for another reason. The code is `nil` if its answer has none.
    case refused(status: Int, code: String?)
    /// The server did not answer in time, or it has a problem.
    case noAnswer
}

extension JoinOutcome {
    /// Reads the server's answer.
    ///
    /// - Parameters:
    ///   - answer: `nil` if there was no answer in time.
    ///   - activity: The activity that the app named.
    ///   - type: The type that the app meant.
    package init(_ answer: PhoneAnswer?, of activity: String, as type: String) {
        guard let answer else {
            self = .noAnswer
            return
        }
        let code = answer.code
        switch answer.status {
        case 200..<300: self = Self.offer(answer.body, of: activity, as: type)
        case _ where code == "unknown_activity": self = .unknownActivity
        case _ where code == "activity_ended": self = .activityEnded
        case 401, 403: self = .credentialsRefused
        case 429: self = .rateLimited
        // A server that answers with a redirect is not Islet.
        case 300..<400, 408, 425, 500...: self = .noAnswer
        default: self = .refused(status: answer.status, code: code)
        }
    }

    private static func offer(_ body: [UInt8], of activity: String, as type: String) -> JoinOutcome {
        // A server that answers about something else is not Islet, but perhaps a network that wants a sign-in first.
        guard let value = try? JSONValue(parsing: body), let state = DesiredStates.state(value),
            RegistrationMachine.isSame(state.activity, activity)
        else { return .noAnswer }
        guard state.type == type else { return .typeDiffers(state.type) }
        guard state.phase == "active" else { return .activityEnded }
        if let order = CardOrder(state) { return .offered(order) }
        return state.localID.map { .shown(localID: $0) } ?? .notOffered
    }
}

extension CardOrder {
    /// Creates the order for a card that the server wants. Returns `nil` if the app may not start it.
    init?(_ wish: DesiredStatesAnswer.DesiredState) {
        guard let attributes = wish.attributes else { return nil }
        self.init(
            type: wish.type, activity: wish.activity, attributes: attributes, content: wish.state,
            staleAt: wish.staleAt, relevance: wish.relevance)
    }
}

extension RegistrationMachine {
    /// The first step of an app's wish to join an activity.
    package enum JoinStep: Sendable, Hashable {
        /// The server is asked with this call.
        case ask(PhoneCall)
        /// The result is known without a call.
        case known(JoinOutcome)
    }

    /// The most bytes of an activity's id.
    private static let longestActivityID = 256

    /// Returns `true` if a text can be the id of an activity by the server's rule: 1 to 256 bytes without control
    /// characters.
    package static func isActivityID(_ text: String) -> Bool {
        let hasControls = text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f }
        return !text.isEmpty && text.utf8.count <= longestActivityID && !hasControls
    }

    /// Decides about an app's wish to join an activity.
    ///
    /// The call is not one of the machine's line. It waits for no other call, and nobody repeats it.
    ///
    /// - Parameter environment: The push service of the app's tokens, or `nil` if it is not known.
    package mutating func join(
        _ activity: String, as type: String, in environment: DeviceRequest.Environment?
    ) -> JoinStep {
        guard memory.user != nil else { return .known(.nobodySignedIn) }
        if let localID = card(of: activity, type) { return .known(.shown(localID: localID)) }
        // The kept credentials are the previous person's until the server knows that this person left.
        guard !memory.isLeaving else { return .known(.noAnswer) }
        calls += 1
        let query = environment.map { "?environment=\($0.rawValue)" } ?? ""
        let path = "/v1/activities/" + Self.segment(activity) + "/join" + query
        return .ask(PhoneCall(number: calls, method: .get, path: path, body: nil))
    }
}
