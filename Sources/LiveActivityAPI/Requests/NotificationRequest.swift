public import JSONText

/// The body of `POST /v1/users/{user}/notifications`: an ordinary notification, or a push that wakes the app.
///
/// The call needs an ``id`` or the header `Idempotency-Key`, so that a retry after a lost answer does not send it
/// twice.
public struct NotificationRequest: Sendable, Hashable, Codable {
    /// The notification that the phone shows. Cannot be combined with ``background``.
    public var alert: NotificationAlert?
    /// `true` to wake the app without showing anything, when iOS sees fit. Cannot be combined with ``alert``.
    public var background: Bool?
    /// The app's own members of the payload, beside Apple's `aps`. Default: none.
    public var data: JSONObject?
    /// The devices of the person that receive the push. Default: `all`.
    public var devices: DeviceSelection?
    /// An id that identifies the notification in repeated calls, for 24 hours.
    public var id: String?
    /// The time from this call during which it is worth delivering. Default: 1 day.
    public var expiresAfter: APIDuration?
    /// The `apns-collapse-id`, 1 to 64 visible ASCII characters.
    ///
    /// A later notification with the same value replaces this one.
    public var collapse: String?

    /// Creates a notification that shows this alert.
    public init(alert: NotificationAlert, id: String) {
        self.alert = alert
        self.id = id
    }

    /// Decodes a request.
    ///
    /// - Throws: `DecodingError`, also if ``background`` is `true` beside an ``alert``.
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

/// The content of an ordinary notification.
public struct NotificationAlert: Sendable, Hashable, Codable {
    /// The title.
    public var title: AlertText
    /// The text below the title. Default: none.
    public var body: AlertText?
    /// The line between the title and the body. Default: none.
    public var subtitle: AlertText?
    /// The name of a sound file of the app, or `default`. Default: silent.
    public var sound: String?
    /// The id of the thread. Notifications of one thread are shown as one group. Default: one group for the app.
    public var threadId: String?

    /// Creates a notification with this title. All other properties are `nil`.
    public init(title: AlertText, body: AlertText? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}

/// The ordinary notification that is sent where a card cannot be shown.
///
/// Its texts may contain values of the state, as in `Message from {/sender|somebody}`.
public struct FallbackRequest: Sendable, Hashable, Codable {
    /// The content of the notification.
    public var alert: FallbackAlert

    /// Creates a fallback with this content.
    public init(alert: FallbackAlert) {
        self.alert = alert
    }
}

/// The content of a fallback notification.
public struct FallbackAlert: Sendable, Hashable, Codable {
    /// The title. It must not become empty, whatever members the state lacks.
    public var title: AlertText
    /// The text below the title. Default: none.
    public var body: AlertText?
    /// The name of a sound file of the app, or `default`. Default: silent.
    public var sound: String?

    /// Creates a fallback with this title. All other properties are `nil`.
    public init(title: AlertText, body: AlertText? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}
