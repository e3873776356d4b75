/// The body of `PUT /v1/devices/{device}`: whose phone it is and what it can do; an absent field is left unchanged.
public struct DeviceRequest: Sendable, Hashable, Codable {
    /// The user who is signed in. Absent: the one whom the caller's own credential names; an API key names nobody.
    public var user: String?
    /// The operating system; absent at first: `ios`.
    public var platform: Platform?
    /// The IANA name of the time zone, such as `Europe/Berlin`; for quiet hours.
    public var timeZone: String?
    /// The language and region, such as `de-DE`.
    public var locale: String?
    /// The version of the operating system, such as `18.1`: starting by push needs iOS 17.2.
    public var osVersion: String?
    /// The app's version, such as `3.2`.
    public var appVersion: String?
    /// The app's build number: contracts are kept per build.
    public var build: String?
    /// The model, such as `iPhone17,1`.
    public var model: String?
    /// The APNs environment of the app's tokens.
    public var environment: Environment?
    /// Whether the person allows Live Activities.
    public var activitiesEnabled: Bool?
    /// Whether the person allows frequent updates: the larger budget.
    public var frequentPushesEnabled: Bool?
    /// What the person said about notifications.
    public var notificationAuthorization: NotificationAuthorization?
    /// The token for ordinary notifications and background pushes.
    public var deviceToken: TokenText?
    /// Whether the phone asks for a credential of its own; the answer brings it. Absent: no.
    public var wantsCredential: Bool?

    /// An operating system.
    public enum Platform: String, Sendable, Hashable, Codable, CaseIterable {
        /// iOS and iPadOS.
        case ios
    }

    /// An APNs environment.
    public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
        /// Apps built with Xcode for development.
        case sandbox
        /// Apps from TestFlight and the App Store.
        case production
    }

    /// Apple's `UNAuthorizationStatus`, in its words.
    public enum NotificationAuthorization: String, Sendable, Hashable, Codable, CaseIterable {
        /// The person was not asked.
        case notDetermined
        /// The person said no.
        case denied
        /// The person said yes.
        case authorized
        /// Notifications are delivered quietly on trial.
        case provisional
        /// An App Clip may send notifications for some hours.
        case ephemeral
    }

    /// A request that changes nothing but the user.
    public init(user: String? = nil) {
        self.user = user
    }
}

/// The body of `PUT /v1/devices/{device}/push-to-start-tokens/{type}`.
public struct PushToStartTokenRequest: Sendable, Hashable, Codable {
    /// The newest push-to-start token of that activity type; one value may serve several types.
    public var token: TokenText

    /// A report of this token.
    public init(token: TokenText) {
        self.token = token
    }
}
