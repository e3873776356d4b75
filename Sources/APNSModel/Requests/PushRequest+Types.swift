/// Factory methods for the push types that a provider token may send. Source: Apple, "Sending notification requests to
/// APNs".
///
/// `mdm` is missing. Its topic is part of a certificate, and certificates are not supported.
extension PushRequest {
    // MARK: Live Activities

    /// Returns a request that starts a Live Activity (iOS 17.2 and later). The priority is 10 or 5: `lowest` becomes 5.
    public static func start(_ payload: StartPayload, to token: PushToStartToken, _ envelope: Envelope) -> Self {
        Self(.pushToStart(token), .liveactivity, envelope.forActivity, payload.bytes)
    }

    /// Returns a request that updates a running Live Activity. The priority is 10 or 5: `lowest` becomes 5.
    public static func update(_ payload: UpdatePayload, to token: UpdateToken, _ envelope: Envelope) -> Self {
        Self(.update(token), .liveactivity, envelope.forActivity, payload.bytes)
    }

    /// Returns a request that ends a running Live Activity. The priority is 10 or 5: `lowest` becomes 5.
    public static func end(_ payload: EndPayload, to token: UpdateToken, _ envelope: Envelope) -> Self {
        Self(.update(token), .liveactivity, envelope.forActivity, payload.bytes)
    }

    // MARK: Notifications

    /// Returns a request for an ordinary notification, at any priority.
    public static func alert(_ payload: AlertPayload, to token: DeviceToken, _ envelope: Envelope) -> Self {
        Self(.device(token), .alert, envelope, payload.bytes)
    }

    /// Returns a request that wakes the app without showing anything. The priority is always 5, as Apple requires.
    public static func background(_ payload: BackgroundPayload, to token: DeviceToken, _ envelope: Envelope) -> Self {
        Self(.device(token), .background, envelope.at(.low), payload.bytes)
    }

    // MARK: Calls and push-to-talk

    /// Returns a request that announces a call. The priority is always 10.
    ///
    /// Apple recommends an expiration of `once` or a few seconds, so that a phone that comes back does not ring for an
    /// old call.
    public static func voip(_ payload: VoIPPayload, to token: VoIPToken, _ envelope: Envelope) -> Self {
        Self(.voip(token), .voip, envelope.at(.high), payload.bytes)
    }

    /// Returns a request for a push-to-talk channel. The priority is always 10 and the expiration `once`, as Apple
    /// requires.
    public static func pushToTalk(
        _ payload: PushToTalkPayload, to token: PushToTalkToken, _ envelope: Envelope
    ) -> Self {
        var envelope = envelope.at(.high)
        envelope.expiration = .once
        return Self(.pushToTalk(token), .pushtotalk, envelope, payload.bytes)
    }

    // MARK: Extensions and widgets

    /// Returns a request that updates a watch's complication.
    public static func complication(
        _ payload: ComplicationPayload, to token: ComplicationToken, _ envelope: Envelope
    ) -> Self {
        Self(.complication(token), .complication, envelope, payload.bytes)
    }

    /// Returns a request that tells a File Provider extension about changes.
    public static func fileProvider(
        _ payload: FileProviderPayload, to token: FileProviderToken, _ envelope: Envelope
    ) -> Self {
        Self(.fileProvider(token), .fileprovider, envelope, payload.bytes)
    }

    /// Returns a request that asks a location push service extension for its phone's location.
    public static func location(_ payload: LocationPayload, to token: LocationToken, _ envelope: Envelope) -> Self {
        Self(.location(token), .location, envelope, payload.bytes)
    }

    /// Returns a request that reloads the app's widgets.
    public static func widgets(_ payload: WidgetPayload, to token: WidgetToken, _ envelope: Envelope) -> Self {
        Self(.widgets(token), .widgets, envelope, payload.bytes)
    }

    /// Returns a request that reloads a control.
    public static func control(_ payload: ControlPayload, to token: ControlToken, _ envelope: Envelope) -> Self {
        Self(.control(token), .controls, envelope, payload.bytes)
    }
}

extension PushRequest.Envelope {
    /// Apple documents only the priorities 10 and 5 for Live Activities.
    fileprivate var forActivity: Self { priority == .lowest ? at(.low) : self }

    fileprivate func at(_ priority: PushPriority) -> Self {
        var envelope = self
        envelope.priority = priority
        return envelope
    }
}
