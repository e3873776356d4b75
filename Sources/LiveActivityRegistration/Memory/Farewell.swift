internal import JSONText

/// How a card was ended that iOS may still show: on the lock screen it stays up to four hours.
struct Farewell: Sendable, Hashable, Codable {
    let localID: String
    /// Whose card it was.
    let user: String
    /// When it leaves; `nil`: somebody else ended it, such as a push, and the card does not say.
    var dismissal: CardDismissal?
    /// Its last state; `nil`: what it showed before, or what somebody else gave it.
    var content: JSONObject?
    /// What the end was dated by, in seconds since 1970.
    var timestamp: Int?

    /// Of so many cards it is remembered; iOS keeps about five.
    static let limit = 16
}

extension RegistrationMemory {
    func farewell(of localID: String) -> Farewell? { farewells?.first { $0.localID == localID } }

    mutating func remember(_ farewell: Farewell) {
        forgetFarewell(of: farewell.localID)
        farewells = ((farewells ?? []) + [farewell]).suffix(Farewell.limit)
    }

    mutating func forgetFarewell(of localID: String) {
        guard farewell(of: localID) != nil else { return }
        farewells?.removeAll { $0.localID == localID }
    }
}
