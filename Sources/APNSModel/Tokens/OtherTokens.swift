// Each framework of Apple's hands out a token of its own, and none takes the place of another.

/// The kind of `VoIPToken`.
public enum VoIPTokenKind: PushTokenKind {
    /// As error messages call a `VoIPToken`.
    public static let name = "VoIP token"
}

/// The kind of `PushToTalkToken`.
public enum PushToTalkTokenKind: PushTokenKind {
    /// As error messages call a `PushToTalkToken`.
    public static let name = "push-to-talk token"
}

/// The kind of `ComplicationToken`.
public enum ComplicationTokenKind: PushTokenKind {
    /// As error messages call a `ComplicationToken`.
    public static let name = "complication token"
}

/// The kind of `FileProviderToken`.
public enum FileProviderTokenKind: PushTokenKind {
    /// As error messages call a `FileProviderToken`.
    public static let name = "file provider token"
}

/// The kind of `LocationToken`.
public enum LocationTokenKind: PushTokenKind {
    /// As error messages call a `LocationToken`.
    public static let name = "location token"
}

/// The kind of `WidgetToken`.
public enum WidgetTokenKind: PushTokenKind {
    /// As error messages call a `WidgetToken`.
    public static let name = "widget token"
}

/// The kind of `ControlToken`.
public enum ControlTokenKind: PushTokenKind {
    /// As error messages call a `ControlToken`.
    public static let name = "control token"
}

/// From PushKit, `PKPushType.voIP`: announces calls.
public typealias VoIPToken = PushToken<VoIPTokenKind>
/// From `PTChannelManager`: valid while its user has joined the channel.
public typealias PushToTalkToken = PushToken<PushToTalkTokenKind>
/// From PushKit, `PKPushType.complication`: renews the complication of a watch.
public typealias ComplicationToken = PushToken<ComplicationTokenKind>
/// From PushKit, `PKPushType.fileProvider`: tells a File Provider extension of changes.
public typealias FileProviderToken = PushToken<FileProviderTokenKind>
/// From `CLLocationManager.startMonitoringLocationPushes`: wakes a location push service extension.
public typealias LocationToken = PushToken<LocationTokenKind>
/// From WidgetKit's `WidgetPushHandler`: reloads widgets.
public typealias WidgetToken = PushToken<WidgetTokenKind>
/// From WidgetKit's `ControlPushHandler`: reloads one control.
public typealias ControlToken = PushToken<ControlTokenKind>
