package import JSONText
package import LiveActivityAPI
package import LiveActivityRegistration

/// One type of cards as iOS keeps them: the thin edge to ActivityKit, or what stands in for it.
package protocol CardPort: Sendable {
    /// The server's name of the type.
    var type: String { get }
    /// How its cards are treated.
    var rules: RegistrationMachine.TypeRules { get }
    /// Every card that there is now.
    func cards() -> [SeenCard]
    /// The push-to-start token as the property has it.
    func startToken() -> TokenText?
    /// Tells of every change until the task is cancelled.
    func observe(_ tell: @escaping @Sendable (CardNews) -> Void) async
    /// - Throws: Whatever iOS says against it.
    func start(_ order: CardOrder) throws -> SeenCard
    /// The card afterwards; `nil` when there is no such card.
    func update(
        _ localID: String, content: JSONObject, _ presentation: CardPresentation, timestamp: Int?
    ) async -> SeenCard?
    /// The card afterwards; `nil` when there is no such card.
    func end(_ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?) async -> SeenCard?
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
}

/// What happens on a phone besides its cards.
package enum PhoneNews: Sendable {
    case factsChanged
    case foreground(Bool)
    case networkBack
}
