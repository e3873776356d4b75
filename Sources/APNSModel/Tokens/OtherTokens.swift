// Each of Apple's frameworks provides its own tokens. No kind replaces another.

/// The kind of `VoIPToken`.
public enum VoIPTokenKind: PushTokenKind {
    /// The name of a `VoIPToken` in error messages.
    public static let name = "VoIP token"
}

/// The kind of `PushToTalkToken`.
public enum PushToTalkTokenKind: PushTokenKind {
    /// The name of a `PushToTalkToken` in error messages.
    public static let name = "push-to-talk token"
}

/// The kind of `ComplicationToken`.
public enum ComplicationTokenKind: PushTokenKind {
    /// The name of a `ComplicationToken` in error messages.
    public static let name = "complication token"
}

/// The kind of `FileProviderToken`.
public enum FileProviderTokenKind: PushTokenKind {
    /// The name of a `FileProviderToken` in error messages.
    public static let name = "file provider token"
}

/// The kind of `LocationToken`.
public enum LocationTokenKind: PushTokenKind {
    /// The name of a `LocationToken` in error messages.
    public static let name = "location token"
}

/// The kind of `WidgetToken`.
public enum WidgetTokenKind: PushTokenKind {
    /// The name of a `WidgetToken` in error messages.
    public static let name = "widget token"
}

/// The kind of `ControlToken`.
public enum ControlTokenKind: PushTokenKind {
    /// The name of a `ControlToken` in error messages.
    public static let name = "control token"
}

/// A token that announces calls, from PushKit (`PKPushType.voIP`).
public typealias VoIPToken = PushToken<VoIPTokenKind>
/// A token of a push-to-talk channel, from `PTChannelManager`. It is valid while the person has joined the channel.
public typealias PushToTalkToken = PushToken<PushToTalkTokenKind>
/// A token that updates a watch's complication, from PushKit (`PKPushType.complication`).
public typealias ComplicationToken = PushToken<ComplicationTokenKind>
/// A token that tells a File Provider extension about changes, from PushKit (`PKPushType.fileProvider`).
public typealias FileProviderToken = PushToken<FileProviderTokenKind>
/// A token that wakes a location push service extension, from `CLLocationManager.startMonitoringLocationPushes`.
public typealias LocationToken = PushToken<LocationTokenKind>
/// A token that reloads widgets, from WidgetKit's `WidgetPushHandler`.
public typealias WidgetToken = PushToken<WidgetTokenKind>
/// A token that reloads one control, from WidgetKit's `ControlPushHandler`.
public typealias ControlToken = PushToken<ControlTokenKind>
