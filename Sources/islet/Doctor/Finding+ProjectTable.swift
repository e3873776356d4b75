// Rows of the table of findings about an app's project (`islet doctor --project`).

extension Finding.ID {
    static let projectEntries: [Self: Entry] = [
        .projectGood: Entry(
            .project, .ok, "the target of an app was read"),
        .projectAbsent: Entry(
            .project, .failed, "there is no such folder, or no project of Xcode in it",
            "name the folder that has the .xcodeproj; where XcodeGen, Tuist or the like write it, let them first"),
        .projectUnreadable: Entry(
            .project, .failed, "a file does not parse, has more than 4 MB, or cannot be read",
            "mend the line that is named: a merge may have left its marks (`<<<<<<<`); `plutil -lint` checks a "
                + "property list on a Mac"),
        .projectWithoutApp: Entry(
            .project, .failed, "no target is an iOS app, or none has the bundle id of `--app`",
            "name the folder of the app's own project, and its bundle id as the build settings have it"),
        .projectFileAbsent: Entry(
            .project, .failed, "a build setting names a file that is not there, or not in the folder",
            "mend the setting; where the file lies outside, give --project the folder above"),
        .projectSettingUnknown: Entry(
            .project, .warning, "a setting depends on something that is not in the folder, such as an .xcconfig file",
            "look at its value in Xcode's build settings: what follows from it was not checked"),
        .projectCut: Entry(
            .project, .warning, "the folder has more than 50000 names or is deeper than 8: not all was looked through",
            "name the folder of the .xcodeproj itself"),
        .activitiesGood: Entry(
            .activities, .ok, "the app says that it has Live Activities"),
        .activitiesOff: Entry(
            .activities, .failed, "`NSSupportsLiveActivities` is not true: iOS starts no Live Activity of the app",
            "set it to true in the app's Info.plist, or `INFOPLIST_KEY_NSSupportsLiveActivities = YES` in its build "
                + "settings"),
        .activitiesRare: Entry(
            .activities, .warning,
            "`NSSupportsLiveActivitiesFrequentUpdates` is not true: iOS allows few pushes of high priority",
            "set it to true next to `NSSupportsLiveActivities` if the app's activities change often"),
        .entitlementGood: Entry(
            .entitlement, .ok, "the app may have push tokens, and of which environment"),
        .entitlementAbsent: Entry(
            .entitlement, .failed, "there is no entitlement `aps-environment`: the app gets no push token",
            "add the capability Push Notifications to the app's target in Xcode: it writes the entitlements file and "
                + "`CODE_SIGN_ENTITLEMENTS`"),
        .entitlementWrong: Entry(
            .entitlement, .failed, "`aps-environment` is neither development nor production",
            "write `development`: signing for distribution makes it `production`"),
        .backgroundGood: Entry(
            .background, .ok, "a push can wake the app in the background"),
        .backgroundAbsent: Entry(
            .background, .warning,
            "`UIBackgroundModes` has no `remote-notification`: cards work without, but the server cannot ask the app "
                + "for a token that went stale",
            "add the capability Background Modes with Remote notifications (docs/ios.md, step 5)"),
        .widgetGood: Entry(
            .widget, .ok, "the app carries a widget extension, which draws the cards"),
        .widgetAbsent: Entry(
            .widget, .failed, "no target is a widget extension: nothing draws the cards",
            "add a target Widget Extension in Xcode, with Include Live Activity, embedded in the app"),
        .widgetNotEmbedded: Entry(
            .widget, .failed, "a widget extension is there, and not in the app",
            "add it to the app's target under Frameworks, Libraries, and Embedded Content"),
        .widgetBundleID: Entry(
            .widget, .failed,
            "the extension's bundle id does not begin with the app's and a dot: iOS does not "
                + "install it",
            "name it such as the app's bundle id with `.widgets` behind it, in each configuration"),
        .widgetOld: Entry(
            .widget, .warning, "the extension is built for systems before iOS 16.1, which have no Live Activities",
            "set its deployment target to 16.1 or later, or have its ActivityConfiguration behind `#available`"),
        .widgetNew: Entry(
            .widget, .warning, "the extension needs a later iOS than the app: phones between the two show no card",
            "set the deployment target of the extension to that of the app; Xcode gives a new target the newest"),
        .systemGood: Entry(
            .system, .ok, "each phone that can have the app knows all that pushes do: iOS 17.2 or later"),
        .systemWithoutStart: Entry(
            .system, .ok, "the app also runs on systems before iOS 17.2, where no push starts a card, only the app"),
        .systemWithoutCards: Entry(
            .system, .ok, "the app also runs on systems before iOS 16.1, which have no Live Activities"),
        .systemOld: Entry(
            .system, .warning, "the app is built for systems before iOS 16, for which the library cannot be built",
            "set the deployment target to 16.0 or later, or call the HTTP API without the library (docs/api.md)"),
        .systemUnknown: Entry(
            .system, .skipped, "the deployment target is not known"),
        .serverGood: Entry(
            .server, .ok, "the configuration has the app, with a key for the entitlement's environment"),
        .serverApp: Entry(
            .server, .failed, "the configuration does not have the app",
            "add its bundle id under `apps`, with a key for each environment"),
        .serverEnvironment: Entry(
            .server, .warning, "the configuration has no key for the environment of the entitlement",
            "add one under the app's `apns`: builds out of Xcode have tokens of the sandbox, those of TestFlight and "
                + "the App Store of production"),
        .serverNotChecked: Entry(
            .server, .skipped, "there is no configuration to compare with, or it is wrong"),
    ]
}
