// Rows of the table of findings about an app's project (`islet doctor --project`).

extension Finding.ID {
    static let projectEntries: [Self: Entry] = [
        .projectGood: Entry(
            .project, .ok, "an app target was found and read"),
        .projectAbsent: Entry(
            .project, .failed, "the folder does not exist, or has no Xcode project",
            "name the folder of the .xcodeproj; if XcodeGen, Tuist or another tool generates it, run that tool first"),
        .projectUnreadable: Entry(
            .project, .failed, "a file does not parse, has more than 4 MB, or cannot be read",
            "correct the named line: a merge may have left conflict markers (`<<<<<<<`); `plutil -lint` checks a "
                + "property list on a Mac"),
        .projectWithoutApp: Entry(
            .project, .failed, "no target is an iOS app, or none has the bundle id of `--app`",
            "name the folder of the app's own project, and the bundle id from its build settings"),
        .projectFileAbsent: Entry(
            .project, .failed, "a build setting names a file that does not exist, or is outside of the folder",
            "correct the setting; if the file is outside of the folder, pass the parent folder to --project"),
        .projectSettingUnknown: Entry(
            .project, .warning, "a setting depends on something that is not in the folder, such as an .xcconfig file",
            "check its value in Xcode's build settings: nothing that depends on it was checked"),
        .projectCut: Entry(
            .project, .warning,
            "the folder has more than 50000 entries or more than 8 levels: not all of it was "
                + "searched",
            "name the folder of the .xcodeproj itself"),
        .activitiesGood: Entry(
            .activities, .ok, "the app declares support for Live Activities"),
        .activitiesOff: Entry(
            .activities, .failed,
            "`NSSupportsLiveActivities` is not true: iOS does not start Live Activities of the "
                + "app",
            "set it to true in the app's Info.plist, or `INFOPLIST_KEY_NSSupportsLiveActivities = YES` in its build "
                + "settings"),
        .activitiesRare: Entry(
            .activities, .warning,
            "`NSSupportsLiveActivitiesFrequentUpdates` is not true: iOS allows only few high-priority pushes",
            "set it to true next to `NSSupportsLiveActivities` if the app's activities change often"),
        .entitlementGood: Entry(
            .entitlement, .ok, "the app can get push tokens; the detail names their environment"),
        .entitlementAbsent: Entry(
            .entitlement, .failed, "the entitlement `aps-environment` is missing: the app gets no push token",
            "add the capability Push Notifications to the app's target in Xcode: it writes the entitlements file and "
                + "`CODE_SIGN_ENTITLEMENTS`"),
        .entitlementWrong: Entry(
            .entitlement, .failed, "`aps-environment` is neither development nor production",
            "set it to `development`: signing for distribution changes it to `production`"),
        .backgroundGood: Entry(
            .background, .ok, "a push can wake the app in the background"),
        .backgroundAbsent: Entry(
            .background, .warning,
            "`UIBackgroundModes` has no `remote-notification`: cards work, but the server cannot ask the app to "
                + "replace a stale token",
            "add the capability Background Modes with Remote notifications (docs/ios.md, step 5)"),
        .widgetGood: Entry(
            .widget, .ok, "the app embeds a widget extension, which draws the cards"),
        .widgetAbsent: Entry(
            .widget, .failed, "no target is a widget extension: nothing draws the cards",
            "add a target Widget Extension in Xcode, with Include Live Activity, embedded in the app"),
        .widgetNotEmbedded: Entry(
            .widget, .failed, "the project has a widget extension, but the app does not embed it",
            "add it to the app's target under Frameworks, Libraries, and Embedded Content"),
        .widgetBundleID: Entry(
            .widget, .failed,
            "the extension's bundle id does not begin with the app's and a dot: iOS does not "
                + "install it",
            "set it to the app's bundle id followed by `.widgets`, for example, in every configuration"),
        .widgetOld: Entry(
            .widget, .warning, "the extension is built for systems before iOS 16.1, which have no Live Activities",
            "set its deployment target to 16.1 or later, or put its ActivityConfiguration behind `#available`"),
        .widgetNew: Entry(
            .widget, .warning, "the extension needs a later iOS than the app: phones between the two show no card",
            "set the extension's deployment target to the app's; Xcode gives a new target the newest version"),
        .systemGood: Entry(
            .system, .ok, "every supported iOS version supports all push features (iOS 17.2 or later)"),
        .systemWithoutStart: Entry(
            .system, .ok, "the app also runs on systems before iOS 17.2, where only the app can start a card"),
        .systemWithoutCards: Entry(
            .system, .ok, "the app also runs on systems before iOS 16.1, which have no Live Activities"),
        .systemOld: Entry(
            .system, .warning, "the app is built for systems before iOS 16, for which the library cannot be built",
            "set the deployment target to 16.0 or later, or call the HTTP API without the library (docs/api.md)"),
        .systemUnknown: Entry(
            .system, .skipped, "the deployment target is not known"),
        .serverGood: Entry(
            .server, .ok, "the configuration contains the app, with a key for the entitlement's environment"),
        .serverApp: Entry(
            .server, .failed, "the configuration does not contain the app",
            "add its bundle id under `apps`, with a key for each environment"),
        .serverEnvironment: Entry(
            .server, .warning, "the configuration has no key for the environment of the entitlement",
            "add one under the app's `apns`: builds that Xcode installs have sandbox tokens, those of TestFlight and "
                + "the App Store production tokens"),
        .serverNotChecked: Entry(
            .server, .skipped, "no configuration to compare with, or it has errors"),
    ]
}
