import APNSModel

/// What is missing in an app's project for Live Activities with push, from what was read of it.
enum ProjectDiagnosis {
    // By docs/ios.md: the first iOS with Live Activities; with all of them that does not need a push to start; with
    // that too; and the first that the library is built for.
    static let firstWithCards = SystemVersion(16, 1)
    static let firstWithContent = SystemVersion(16, 2)
    static let firstWithStart = SystemVersion(17, 2)
    static let firstOfLibrary = SystemVersion(16, 0)

    static func findings(_ facts: ProjectFacts) -> [Finding] {
        var findings = facts.problems
        for app in facts.apps {
            findings.append(good(app.app))
            findings += merged(app.app.builds, activities) + merged(app.app.builds, entitlement)
            findings += merged(app.app.builds, background)
            findings += widgets(app)
            findings += merged(app.app.builds) { [system($0)] }
            if let server = facts.server { findings += merged(app.app.builds) { self.server($0, server) } }
        }
        if !facts.apps.isEmpty, facts.server == nil {
            findings.append(Finding(.serverNotChecked, "the app's bundle id was compared with nothing"))
        }
        return findings
    }

    /// What is so in each configuration is told once, else with the names of those where it is so.
    private static func merged(_ builds: [BuildFacts], _ check: (BuildFacts) -> [Finding]) -> [Finding] {
        var merged: [(finding: Finding, names: [String])] = []
        for build in builds {
            for finding in check(build) {
                let index = merged.firstIndex {
                    $0.finding.id == finding.id && $0.finding.detail == finding.detail
                        && $0.finding.place?.file == finding.place?.file
                }
                if let index {
                    merged[index].names.append(build.configuration)
                } else {
                    merged.append((finding, [build.configuration]))
                }
            }
        }
        return merged.map { finding, names in
            guard names.count < builds.count else { return finding }
            return Finding(
                finding.id, "\(finding.detail) (in \(names.joined(separator: ", ")))", fix: finding.fix,
                at: finding.place)
        }
    }

    private static func good(_ app: ProjectFacts.TargetFacts) -> Finding {
        var ids: [String] = []
        for case let id? in app.builds.map(\.bundleID) where !ids.contains(id) { ids.append(id) }
        let named = ids.isEmpty ? "a bundle id that is not known" : ids.joined(separator: ", ")
        return Finding(
            .projectGood, "the app \(app.name), \(named)", at: Finding.Place(file: app.file, line: app.line))
    }

    // MARK: - The app's Info.plist

    /// A key of the Info.plist that is to be true: it stands in the file, or Xcode generates it from a setting.
    private static func flag(_ key: String, in build: BuildFacts) -> (isOn: Bool, words: String, place: Finding.Place) {
        let setting = "INFOPLIST_KEY_\(key)"
        if let list = build.info.facts, let value = list.values[key] {
            let isOn = value as? Bool
            let words = isOn.map { "is \($0)" } ?? "is neither <true/> nor <false/>"
            return (isOn ?? false, words, list.place(key))
        }
        guard build.settings.isSet(setting) else {
            return (false, "is not set", build.info.facts?.place(key) ?? build.place(setting))
        }
        guard build.settings.isOn(setting) else { return (false, "is not YES", build.place(setting)) }
        guard build.settings.isOn("GENERATE_INFOPLIST_FILE") else {
            return (false, "counts only where GENERATE_INFOPLIST_FILE is YES", build.place(setting))
        }
        return (true, "is YES", build.place(setting))
    }

    private static func activities(_ build: BuildFacts) -> [Finding] {
        guard !build.info.isUnread else { return [] }
        let cards = flag("NSSupportsLiveActivities", in: build)
        let often = flag("NSSupportsLiveActivitiesFrequentUpdates", in: build)
        return [Finding(cards.isOn ? .activitiesGood : .activitiesOff, cards.words, at: cards.place)]
            + (often.isOn ? [] : [Finding(.activitiesRare, often.words, at: often.place)])
    }

    private static func background(_ build: BuildFacts) -> [Finding] {
        guard !build.info.isUnread else { return [] }
        let (key, mode) = ("UIBackgroundModes", "remote-notification")
        let modes = build.info.facts?.values[key] as? [String] ?? []
        let place = build.info.facts?.place(key) ?? build.place("INFOPLIST_FILE")
        guard !modes.contains(mode) else { return [Finding(.backgroundGood, "has \(mode)", at: place)] }
        let setting = "INFOPLIST_KEY_\(key)"
        // Xcode has no such setting; projects that have it all the same are seen.
        guard build.settings.value(setting)?.contains(mode) != true else {
            return [
                Finding(
                    .backgroundAbsent, "is no setting that Xcode makes a key of: the Info.plist has to have it",
                    at: build.place(setting))
            ]
        }
        return [Finding(.backgroundAbsent, "\(mode) is not among the background modes", at: place)]
    }

    // MARK: - Its entitlements

    private static func entitlement(_ build: BuildFacts) -> [Finding] {
        let key = "aps-environment"
        switch build.entitlements {
        case .unread: return []
        case .unnamed:
            let setting = "CODE_SIGN_ENTITLEMENTS"
            return [Finding(.entitlementAbsent, "no entitlements file is named", at: build.place(setting))]
        case .read(let list):
            guard let value = list.values[key] else {
                return [Finding(.entitlementAbsent, "is not there", at: list.place(key))]
            }
            guard let text = value as? String, let environment = build.settings.resolved(text) else {
                return [Finding(.entitlementWrong, "is `\(value)`, which comes to nothing", at: list.place(key))]
            }
            switch environment {
            case "development":
                let words =
                    "development: builds out of Xcode have tokens of the sandbox; signing for TestFlight or the App "
                    + "Store makes it production"
                return [Finding(.entitlementGood, words, at: list.place(key))]
            case "production":
                let words = "production: Xcode still signs by the profile, and a development profile has the sandbox"
                return [Finding(.entitlementGood, words, at: list.place(key))]
            default: return [Finding(.entitlementWrong, "is `\(environment)`", at: list.place(key))]
            }
        }
    }

    // MARK: - Systems

    private static func system(_ build: BuildFacts) -> Finding {
        let place = build.place("IPHONEOS_DEPLOYMENT_TARGET")
        guard let system = build.system else { return Finding(.systemUnknown, "is not set, or not known", at: place) }
        if system < firstOfLibrary { return Finding(.systemOld, "iOS \(system)", at: place) }
        if system < firstWithCards {
            return Finding(.systemWithoutCards, "iOS \(system): before 16.1 there are no Live Activities", at: place)
        }
        if system < firstWithStart {
            return Finding(.systemWithoutStart, "iOS \(system): before 17.2 only the app starts a card", at: place)
        }
        return Finding(.systemGood, "iOS \(system)", at: place)
    }

    // MARK: - The server

    private static func server(_ build: BuildFacts, _ server: ProjectFacts.ServerFacts) -> [Finding] {
        guard let id = build.bundleID else {
            let place = build.place("PRODUCT_BUNDLE_IDENTIFIER")
            return [Finding(.serverNotChecked, "the bundle id is not known", at: place)]
        }
        guard let environments = server.environments[id] else {
            return [Finding(.serverApp, "\(id) is not there", at: build.place("PRODUCT_BUNDLE_IDENTIFIER"))]
        }
        guard let list = build.entitlements.facts,
            let value = (list.values["aps-environment"] as? String).flatMap(build.settings.resolved),
            let wanted = ["development": APNSEnvironment.sandbox, "production": .production][value]
        else { return [] }
        guard environments.contains(wanted) else {
            let words = "\(id) has no key for \(wanted.rawValue)"
            return [Finding(.serverEnvironment, words, at: list.place("aps-environment"))]
        }
        let other: APNSEnvironment = wanted == .sandbox ? .production : .sandbox
        let rest = environments.contains(other) ? "" : ", and none for \(other.rawValue)"
        return [Finding(.serverGood, "\(id) has a key for \(wanted.rawValue)\(rest)")]
    }
}
