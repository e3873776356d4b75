public import JSONText

/// The body of `POST /v1/users/{user}/notifications`: an ordinary notification, or a push that wakes the app.
///
/// It needs an `id`, or the header `Idempotency-Key`: repeating a call that may have been lost must not send two.
public struct NotificationRequest: Sendable, Hashable, Codable {
    /// What the phone shows; excludes ``background``.
    public var alert: NotificationAlert?
    /// `true` wakes the app without showing anything, when iOS sees fit; excludes ``alert``.
    public var background: Bool?
    /// The app's own members, beside Apple's `aps`; absent: none.
    public var data: JSONObject?
    /// The person's devices that get it; absent: `all`.
    public var devices: DeviceSelection?
    /// What makes it the same notification in a repeated call, for 24 hours.
    public var id: String?
    /// How long it is worth delivering, from this call; absent: 1 d.
    public var expiresAfter: APIDuration?
    /// `apns-collapse-id`, 1 to 64 visible ASCII characters: a later one with the same takes the place of this one.
    public var collapse: String?

    /// A notification that shows this.
    public init(alert: NotificationAlert, id: String) {
        self.alert = alert
        self.id = id
    }

    /// Reads a request.
    ///
    /// - Throws: For a body with both ``alert`` and ``background``, or a field that there is not.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        alert = try container.decodeIfPresent(NotificationAlert.self, forKey: .alert)
        background = try container.decodeIfPresent(Bool.self, forKey: .background)
        data = try container.decodeIfPresent(JSONObject.self, forKey: .data)
        devices = try container.decodeIfPresent(DeviceSelection.self, forKey: .devices)
        id = try container.decodeIfPresent(String.self, forKey: .id)
        expiresAfter = try container.decodeIfPresent(APIDuration.self, forKey: .expiresAfter)
        collapse = try container.decodeIfPresent(String.self, forKey: .collapse)
        if alert != nil, background == true { throw decoder.excluded(CodingKeys.background, by: CodingKeys.alert) }
    }
}

/// What an ordinary notification shows.
public struct NotificationAlert: Sendable, Hashable, Codable {
    /// The title.
    public var title: AlertText
    /// The text below the title; absent: none.
    public var body: AlertText?
    /// The line between title and body; absent: none.
    public var subtitle: AlertText?
    /// A sound file of the app, or `default`; absent: silent.
    public var sound: String?
    /// Notifications of one thread are shown as one group; absent: those of the app.
    public var threadId: String?

    /// A notification with this title; what is left out is not shown.
    public init(title: AlertText, body: AlertText? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}

/// What an ordinary notification says where a card cannot be shown: texts may take values of the state, as in
/// `Message from {/sender|somebody}`.
public struct FallbackRequest: Sendable, Hashable, Codable {
    /// What it shows.
    public var alert: FallbackAlert

    /// A fallback that shows this.
    public init(alert: FallbackAlert) {
        self.alert = alert
    }
}

/// The words of a fallback.
public struct FallbackAlert: Sendable, Hashable, Codable {
    /// The title, which has something to say whatever the state lacks.
    public var title: AlertText
    /// The text below the title; absent: none.
    public var body: AlertText?
    /// A sound file of the app, or `default`; absent: silent.
    public var sound: String?

    /// A fallback with this title; what is left out is not shown.
    public init(title: AlertText, body: AlertText? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}
