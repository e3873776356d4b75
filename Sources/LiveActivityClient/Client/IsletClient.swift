public import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

/// A client that reports the tokens of an app's Live Activities to the server until it has confirmed them, and that
/// brings what the phone shows to what the server wants.
///
/// Create it at the app's launch before anything else can happen, track the types, and run it:
///
/// ```swift
/// let client = IsletClient(server: server) { _ in try await session.token() }
/// client.track(OrderTrackingAttributes.self, as: "OrderTracking")
/// Task { await client.run() }
/// ```
///
/// The client repeats what the server has not confirmed, also after the next launch. No log contains tokens or states.
public final class IsletClient: Sendable {
    /// The client's storage, transport and clock. The default values are right for an app.
    public struct Configuration: Sendable {
        /// The transport of the calls, or `nil` for `URLSession`.
        public var transport: (any ClientTransport)?
        /// The storage of what the client remembers across launches. It must be readable while the phone is locked.
        public var memory: any ClientStorage = FileStorage.standard()
        /// The storage of the device id and the credential, for this device only. With `nil` it is the Keychain, or a
        /// file on systems without one.
        public var identity: (any ClientStorage)?
        /// The phone's clocks.
        public var clock: any ClientClock = SystemClientClock()
        /// The push service that the tokens belong to, or `nil` to let the client find out.
        public var environment: Environment?

        /// Creates the default configuration.
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

    /// Creates a client that does nothing yet.
    ///
    /// - Parameters:
    ///   - server: The server's root, such as `https://push.example.com`. If the app's backend forwards the phone's
    ///     calls, it is the backend's root.
    ///   - credentials: Returns what goes behind `Authorization: Bearer`: the person's own token, or what the app's
    ///     backend hands out. The client calls it once, and again with what the server refused as the argument. A call
    ///     of `join` may call it too. Throw if there is none now. The client then calls it again later, as it does when
    ///     the closure has not returned after 30 seconds.
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

    /// Runs the client until the task is canceled. Call it once at launch, after tracking the types.
    public func run() async { await engine.run() }

    /// The events from now on. Each caller has a stream of its own. A slow reader misses the oldest once 256 are
    /// waiting.
    public var events: AsyncStream<ClientEvent> { engine.events }

    // MARK: - The person

    /// Says who is signed in. Call it at every launch too.
    ///
    /// The Live Activities of any other person leave the lock screen at once, and the client proves to the server that
    /// the phone was handed over. Live Activities that were there before the first `signIn` belong to this person.
    ///
    /// - Parameter user: The person's id, as in the backend's audiences. If calls use the person's own token, it is the
    ///   id that the token names. An app without accounts passes the id by which its backend knows this installation.
    public func signIn(user: String) {
        engine.say { machine, now in machine.signIn(user, now) }
    }

    /// Says that nobody is signed in. Every Live Activity leaves the lock screen at once, also an ended one that was to
    /// stay. The client then tells the server until the server has confirmed.
    public func signOut() {
        engine.say { $0.signOut($1) }
    }

    // MARK: - What only the app's delegate hears

    /// Accepts the token of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public func setDeviceToken(_ token: Data) {
        let hex = token.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        guard let text = TokenText(hex.joined()) else { return }
        engine.noteDeviceToken(text)
    }

    /// Handles a background push: reads and reports everything again. Returns when the server has confirmed it, or
    /// after 20 seconds, because iOS gives an app about 30.
    public func handleBackgroundPush() async {
        engine.look()
        engine.say { $0.wake($1) }
        await engine.waitUntilSettled(atMost: 20_000)
    }

    /// Returns when every ordered Live Activity is started and the server has confirmed everything, or after a limit.
    ///
    /// Use it where the app must not return earlier: in a `LiveActivityIntent` that starts a Live Activity, and at a
    /// sign-out before the person's session ends.
    public func settle(within limit: Duration = .seconds(20)) async {
        // Before the first look there is nothing to report, and the client would count as settled.
        engine.look()
        await engine.waitUntilSettled(atMost: Int(min(limit / .milliseconds(1), 86_400_000)))
    }

    /// Says whether the app is on the screen. On iOS the client sees that by itself.
    public func setForeground(_ isForeground: Bool) {
        engine.say { $0.setForeground(isForeground, $1) }
        if isForeground { engine.look() }
    }
}
