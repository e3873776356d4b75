/// The body of `PUT /v1/devices/{device}`: the owner of a phone, and what the phone can do.
///
/// A property that is `nil` leaves the server's value unchanged.
public struct DeviceRequest: Sendable, Hashable, Codable {
    /// The user who is signed in.
    ///
    /// `nil` means the person of the caller's own token or credential. Required with an API key, which names no person.
    public var user: String?
    /// The operating system. Default for a new device: `ios`.
    public var platform: Platform?
    /// The IANA name of the time zone, such as `Europe/Berlin`. Used for quiet hours.
    public var timeZone: String?
    /// The language and region, such as `de-DE`.
    public var locale: String?
    /// The version of the operating system, such as `18.1`. Starting an activity by push needs iOS 17.2.
    public var osVersion: String?
    /// The app's version, such as `3.2`.
    public var appVersion: String?
    /// The app's build number. Contracts are kept for each build.
    public var build: String?
    /// The model, such as `iPhone17,1`.
    public var model: String?
    /// The APNs environment of the app's tokens.
    public var environment: Environment?
    /// `true` if the person allows Live Activities.
    public var activitiesEnabled: Bool?
    /// `true` if the person allows frequent updates, which have a larger budget.
    public var frequentPushesEnabled: Bool?
    /// `true` if the app can have Live Activities on broadcast channels (iOS 18), and applies the server's answers to
    /// them.
    public var channels: Bool?
    /// The person's decision about notifications.
    public var notificationAuthorization: NotificationAuthorization?
    /// The token for ordinary notifications and background pushes.
    public var deviceToken: TokenText?
    /// `true` to get a credential of the phone's own in the answer. Default: `false`.
    public var wantsCredential: Bool?

    /// An operating system.
    public enum Platform: String, Sendable, Hashable, Codable, CaseIterable {
        /// iOS and iPadOS.
        case ios
    }

    /// An APNs environment.
    public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
        /// For apps built with Xcode for development.
        case sandbox
        /// For apps from TestFlight and the App Store.
        case production
    }

    /// A value of Apple's `UNAuthorizationStatus`, under the name of its case.
    public enum NotificationAuthorization: String, Sendable, Hashable, Codable, CaseIterable {
        /// The app has not asked the person yet.
        case notDetermined
        /// The person refused notifications.
        case denied
        /// The person allowed notifications.
        case authorized
        /// Notifications are delivered quietly on trial.
        case provisional
        /// An App Clip may send notifications for some hours.
        case ephemeral
    }

    /// Creates a request that changes only the user.
    public init(user: String? = nil) {
        self.user = user
    }
}

/// The body of `PUT /v1/devices/{device}/push-to-start-tokens/{type}`.
public struct PushToStartTokenRequest: Sendable, Hashable, Codable {
    /// The newest push-to-start token of that activity type. Several types may share one token.
    public var token: TokenText

    /// Creates a report of this token.
    public init(token: TokenText) {
        self.token = token
    }
}
