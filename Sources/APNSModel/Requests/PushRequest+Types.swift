/// One factory for each push type of Apple's "Sending notification requests to APNs" that a provider token may send.
///
/// `mdm` is missing: its topic is in a certificate, and certificates are not supported.
extension PushRequest {
    // MARK: Live Activities

    /// Starts a Live Activity (iOS 17.2 and later). At priority 10 or 5; `lowest` becomes 5.
    public static func start(_ payload: StartPayload, to token: PushToStartToken, _ envelope: Envelope) -> Self {
        Self(.pushToStart(token), .liveactivity, envelope.forActivity, payload.bytes)
    }

    /// Updates a running Live Activity. At priority 10 or 5; `lowest` becomes 5.
    public static func update(_ payload: UpdatePayload, to token: UpdateToken, _ envelope: Envelope) -> Self {
        Self(.update(token), .liveactivity, envelope.forActivity, payload.bytes)
    }

    /// Ends a running Live Activity. At priority 10 or 5; `lowest` becomes 5.
    public static func end(_ payload: EndPayload, to token: UpdateToken, _ envelope: Envelope) -> Self {
        Self(.update(token), .liveactivity, envelope.forActivity, payload.bytes)
    }

    // MARK: Notifications

    /// An ordinary notification, at any priority.
    public static func alert(_ payload: AlertPayload, to token: DeviceToken, _ envelope: Envelope) -> Self {
        Self(.device(token), .alert, envelope, payload.bytes)
    }

    /// Wakes the app without showing anything; always at priority 5, as Apple requires for the type.
    public static func background(_ payload: BackgroundPayload, to token: DeviceToken, _ envelope: Envelope) -> Self {
        Self(.device(token), .background, envelope.at(.low), payload.bytes)
    }

    // MARK: Calls and talk

    /// Announces a call; always at priority 10.
    ///
    /// Apple advises an expiration of `once` or a few seconds: a phone that comes back must not ring for an old call.
    public static func voip(_ payload: VoIPPayload, to token: VoIPToken, _ envelope: Envelope) -> Self {
        Self(.voip(token), .voip, envelope.at(.high), payload.bytes)
    }

    /// Somebody speaks in a push-to-talk channel; always at priority 10 and `once`, as Apple asks for the type.
    public static func pushToTalk(
        _ payload: PushToTalkPayload, to token: PushToTalkToken, _ envelope: Envelope
    ) -> Self {
        var envelope = envelope.at(.high)
        envelope.expiration = .once
        return Self(.pushToTalk(token), .pushtotalk, envelope, payload.bytes)
    }

    // MARK: Extensions and widgets

    /// Renews the complication of a watch.
    public static func complication(
        _ payload: ComplicationPayload, to token: ComplicationToken, _ envelope: Envelope
    ) -> Self {
        Self(.complication(token), .complication, envelope, payload.bytes)
    }

    /// Tells a File Provider extension of changes.
    public static func fileProvider(
        _ payload: FileProviderPayload, to token: FileProviderToken, _ envelope: Envelope
    ) -> Self {
        Self(.fileProvider(token), .fileprovider, envelope, payload.bytes)
    }

    /// Asks a location push service extension where its phone is.
    public static func location(_ payload: LocationPayload, to token: LocationToken, _ envelope: Envelope) -> Self {
        Self(.location(token), .location, envelope, payload.bytes)
    }

    /// Reloads the app's widgets.
    public static func widgets(_ payload: WidgetPayload, to token: WidgetToken, _ envelope: Envelope) -> Self {
        Self(.widgets(token), .widgets, envelope, payload.bytes)
    }

    /// Reloads a control.
    public static func control(_ payload: ControlPayload, to token: ControlToken, _ envelope: Envelope) -> Self {
        Self(.control(token), .controls, envelope, payload.bytes)
    }
}

extension PushRequest.Envelope {
    /// Apple documents 10 and 5 for Live Activities.
    fileprivate var forActivity: Self { priority == .lowest ? at(.low) : self }

    fileprivate func at(_ priority: PushPriority) -> Self {
        var envelope = self
        envelope.priority = priority
        return envelope
    }
}
