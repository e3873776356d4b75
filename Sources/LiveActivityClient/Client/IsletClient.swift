public import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

/// Finds the tokens of an app's Live Activities, tells the server of them until it has confirmed, and brings what the
/// phone shows to what the server wants shown.
///
/// Make one at the app's launch, before anything else can happen, name the types, and let it run:
///
/// ```swift
/// let client = IsletClient(server: server) { _ in try await session.token() }
/// client.track(OrderTrackingAttributes.self, as: "OrderTracking")
/// Task { await client.run() }
/// ```
///
/// What is not confirmed is repeated, also after the next launch. Tokens and states appear in no log.
public final class IsletClient: Sendable {
    /// Where the client keeps and finds things; the standard values are right for an app.
    public struct Configuration: Sendable {
        /// Carries the calls; `nil`: `URLSession`.
        public var transport: (any ClientTransport)?
        /// What is remembered across launches; must be readable while the phone is locked.
        public var memory: any ClientStorage = FileStorage.standard()
        /// The device id and the credential; for this device only. `nil`: the Keychain, or a file where there is none.
        public var identity: (any ClientStorage)?
        /// The phone's clocks.
        public var clock: any ClientClock = SystemClientClock()
        /// Which of Apple's services the tokens belong to; `nil`: the client finds out.
        public var environment: Environment?

        /// The standard values.
        public init() {}
    }

    /// One of Apple's push services.
    public enum Environment: Sendable {
        /// Built with Xcode for development.
        case sandbox
        /// From TestFlight or the App Store.
        case production
    }

    package let engine: ClientEngine

    /// A client that does nothing yet.
    ///
    /// - Parameters:
    ///   - server: The server's root, such as `https://push.example.com`, or that of the app's backend where it passes
    ///     the phone's calls on.
    ///   - credentials: What goes behind `Authorization: Bearer`: the person's own token, or what the app's backend
    ///     gives out. It is asked once and again when the server refused what it gave, which is the argument then.
    ///     Throw when there is none now; it is asked again later, and so it is when it has not returned after 30
    ///     seconds.
    public convenience init(
        server: URL, configuration: Configuration = Configuration(),
        credentials: @escaping @Sendable (_ refused: String?) async throws -> String
    ) {
        let environment: DeviceRequest.Environment? =
            switch configuration.environment {
            case .sandbox: .sandbox
            case .production: .production
            case nil: nil
            }
        self.init(
            ClientEngine.Parts(
                transport: configuration.transport ?? URLSessionTransport(server: server),
                memory: configuration.memory, identity: configuration.identity ?? Self.vault(),
                clock: configuration.clock, phone: DevicePhone(environment: environment), credentials: credentials))
    }

    package init(_ parts: ClientEngine.Parts) {
        engine = ClientEngine(parts)
    }

    private static func vault() -> any ClientStorage {
        #if canImport(Security)
            KeychainStorage()
        #else
            FileStorage.standard("islet-identity.json")
        #endif
    }

    /// Works until the task is cancelled. Call it once, at the launch, after the types were named.
    public func run() async { await engine.run() }

    /// What happens from now on; each caller has a stream of its own, and misses the oldest of 256 if it is slow.
    public var events: AsyncStream<ClientEvent> { engine.events }

    // MARK: - The person

    /// Says who is signed in; also at every launch. The Live Activities of anybody else leave the lock screen at once,
    /// and the server is shown that the phone was handed over. Those that were there before anybody was ever named are
    /// theirs.
    ///
    /// - Parameter user: The person's id, as the backend has it in audiences. Where calls go with the person's own
    ///   token it is the one that the token names. An app without accounts names what its backend knows this
    ///   installation by.
    public func signIn(user: String) {
        engine.say { machine, now in machine.signIn(user, now) }
    }

    /// Nobody is signed in, or nobody any more: every Live Activity leaves the lock screen at once, one that has ended
    /// and was to stay included; then the server is told, as often as it takes.
    public func signOut() {
        engine.say { $0.signOut($1) }
    }

    // MARK: - What only the app's delegate hears

    /// Takes the token of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public func setDeviceToken(_ token: Data) {
        let hex = token.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        guard let text = TokenText(hex.joined()) else { return }
        engine.noteDeviceToken(text)
    }

    /// A background push has arrived: everything is read and said anew. Returns when the server has confirmed it, or
    /// after 20 seconds: iOS gives an app about 30.
    public func handleBackgroundPush() async {
        engine.look()
        engine.say { $0.wake($1) }
        await engine.waitUntilSettled(atMost: 20_000)
    }

    /// Returns when every Live Activity that was ordered is started and the server has confirmed all there is to say,
    /// or after a while. For those who must not return earlier: a `LiveActivityIntent` that starts one, a sign-out
    /// before the person's session ends.
    public func settle(within limit: Duration = .seconds(20)) async {
        // Who has read nothing yet has nothing to say.
        engine.look()
        await engine.waitUntilSettled(atMost: Int(min(limit / .milliseconds(1), 86_400_000)))
    }

    /// The app is on the screen, or no longer. On iOS the client sees that for itself.
    public func setForeground(_ isForeground: Bool) {
        engine.say { $0.setForeground(isForeground, $1) }
        if isForeground { engine.look() }
    }
}
