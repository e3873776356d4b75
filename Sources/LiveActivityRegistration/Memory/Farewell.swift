internal import JSONText

/// A record of how a card was ended that iOS may still show. On the lock screen an ended card stays up to four hours.
struct Farewell: Sendable, Hashable, Codable {
    let localID: String
    /// The person whose card it was.
    let user: String
    /// The rule for when it leaves, or `nil` if something else ended it, such as a push, and the card does not say.
    var dismissal: CardDismissal?
    /// Its last state, or `nil` for what it showed before or what something else gave it.
    var content: JSONObject?
    /// The timestamp of the end, in seconds since 1970.
    var timestamp: Int?

    /// The most remembered records. iOS keeps about five cards.
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
