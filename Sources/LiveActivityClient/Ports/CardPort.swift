package import JSONText
package import LiveActivityAPI
package import LiveActivityRegistration

/// One type of cards as iOS keeps them: the thin edge to ActivityKit, or what stands in for it.
package protocol CardPort: Sendable {
    /// The server's name of the type.
    var type: String { get }
    /// How its cards are treated.
    var rules: RegistrationMachine.TypeRules { get }
    /// What cards held when an earlier process ended, in its words.
    func remember(_ contents: [String: JSONObject])
    /// Every card that there is now.
    func cards() -> [SeenCard]
    /// The push-to-start token as the property has it.
    func startToken() -> TokenText?
    /// Tells of every change until the task is cancelled.
    func observe(_ tell: @escaping @Sendable (CardNews) -> Void) async
    func start(_ order: CardOrder) throws(CardRefusal) -> SeenCard
    /// The card afterwards; `nil` when there is no such card.
    func update(
        _ localID: String, content: JSONObject, _ presentation: CardPresentation, timestamp: Int?
    ) async -> SeenCard?
    /// The card afterwards; `nil` when there is no such card.
    func end(_ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?) async -> SeenCard?
}

/// Why iOS made no card.
package struct CardRefusal: Error {
    package let cause: any Error
    /// The app was not on the screen.
    package let isHidden: Bool

    package init(_ cause: any Error, isHidden: Bool = false) {
        self.cause = cause
        self.isHidden = isHidden
    }
}

/// A token as a sequence of iOS and a property of it have it: the property may still have what was before.
package struct TokenReading: Sendable {
    /// What the sequence said last.
    private var told: TokenText?
    /// What the property had then.
    private var besides: TokenText?

    package init(told: TokenText? = nil, besides: TokenText? = nil) {
        (self.told, self.besides) = (told, besides)
    }

    /// - Parameter property: What it has now.
    package func newest(_ property: TokenText?) -> TokenText? {
        property == besides ? told ?? property : property ?? told
    }
}

/// What iOS says of a type.
package enum CardNews: Sendable {
    case card(SeenCard)
    case startToken(TokenText)
}

/// The phone besides its cards.
package protocol PhonePort: Sendable {
    /// What can be said of it now; the `user` means nothing.
    func facts() -> DeviceRequest
    /// Tells of every change until the task is cancelled.
    func observe(_ tell: @escaping @Sendable (PhoneNews) -> Void) async
    /// Asks iOS not to suspend the app yet, which it does seconds after it left the screen or was woken. iOS grants it
    /// for some seconds, or not at all.
    ///
    /// - Parameter expired: Called when iOS takes the time back; what was returned need not be called then.
    /// - Returns: To be called when there is nothing left to do.
    func stayAwake(expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}

/// What happens on a phone besides its cards.
package enum PhoneNews: Sendable {
    case factsChanged
    case foreground(Bool)
    case networkBack
}
