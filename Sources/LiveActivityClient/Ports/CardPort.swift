package import JSONText
package import LiveActivityAPI
package import LiveActivityRegistration

/// The cards of one type: the thin edge to ActivityKit, or a stand-in for it.
package protocol CardPort: Sendable {
    /// The type's name on the server.
    var type: String { get }
    /// Rules for the type's cards.
    var rules: RegistrationMachine.TypeRules { get }
    /// Receives the contents of the cards at the end of the previous process, as they were written then.
    func remember(_ contents: [String: JSONObject])
    /// Returns every card that iOS lists now.
    func cards() -> [SeenCard]
    /// Returns the push-to-start token of the property.
    func startToken() -> TokenText?
    /// Reports every change until the task is canceled.
    func observe(_ tell: @escaping @Sendable (CardNews) -> Void) async
    func start(_ order: CardOrder) throws(CardRefusal) -> SeenCard
    /// Updates a card.
    ///
    /// - Returns: The card afterwards, or `nil` if there is no such card.
    func update(
        _ localID: String, content: JSONObject, _ presentation: CardPresentation, timestamp: Int?
    ) async -> SeenCard?
    /// Ends a card.
    ///
    /// - Returns: The card afterwards, or `nil` if there is no such card.
    func end(_ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?) async -> SeenCard?
}

/// The reason why iOS made no card.
package struct CardRefusal: Error {
    package let cause: any Error
    /// `true` if the app was not on the screen.
    package let isHidden: Bool

    package init(_ cause: any Error, isHidden: Bool = false) {
        self.cause = cause
        self.isHidden = isHidden
    }
}

/// A token as iOS's sequence and its property have it. The property may still have the previous token when the sequence
/// has a new one.
package struct TokenReading: Sendable {
    /// The last token of the sequence.
    private var told: TokenText?
    /// The token of the property at that moment.
    private var besides: TokenText?

    package init(told: TokenText? = nil, besides: TokenText? = nil) {
        (self.told, self.besides) = (told, besides)
    }

    /// Returns the newest token.
    ///
    /// - Parameter property: The property's token now.
    package func newest(_ property: TokenText?) -> TokenText? {
        property == besides ? told ?? property : property ?? told
    }
}

/// A change that iOS reports about a type.
package enum CardNews: Sendable {
    case card(SeenCard)
    case startToken(TokenText)
}

/// The phone without its cards.
package protocol PhonePort: Sendable {
    /// Returns what is known of the phone now. The `user` means nothing.
    func facts() -> DeviceRequest
    /// Reports every change until the task is canceled.
    func observe(_ tell: @escaping @Sendable (PhoneNews) -> Void) async
    /// Asks iOS not to suspend the app yet. iOS suspends it seconds after it left the screen or was woken. It grants
    /// some more seconds, or none.
    ///
    /// - Parameter expired: Called when iOS ends the granted time. The returned closure need not be called then.
    /// - Returns: A closure to call when nothing is left to do.
    func stayAwake(expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}

/// A change of the phone apart from its cards.
package enum PhoneNews: Sendable {
    case factsChanged
    case foreground(Bool)
    case networkBack
}
