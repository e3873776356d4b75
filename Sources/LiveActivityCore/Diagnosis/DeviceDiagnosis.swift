import APNSModel
import JSONText

/// Diagnosis of why a state did not arrive. It checks everything between a state and one phone's lock screen.
///
/// It is a pure function: the same facts give the same findings, most serious first.
package enum DeviceDiagnosis {
    /// Time without contact after which the phone may be switched off, or the app removed.
    static let silence = Duration.seconds(7 * 86_400)
    /// Clock difference that is reported. Beyond `unbearableSkew`, timestamps and stale dates cannot be trusted.
    static let noticeableSkew = Duration.seconds(10)
    static let unbearableSkew = Duration.seconds(60)

    /// Returns the findings for a device that does not exist.
    package static func unknown(_ device: DeviceID) -> [DiagnosisFinding] {
        [
            DiagnosisFinding(
                .deviceUnknown, .blocked, "no phone has registered with this id, or it was erased",
                fix: "the app must register at every launch: PUT /v1/devices/{device} with `user`",
                evidence: ["device": .string(device.text)])
        ]
    }

    package static func findings(_ facts: DiagnosisFacts) -> [DiagnosisFinding] {
        var findings = device(facts) + environments(facts) + routes(facts) + clock(facts) + tokenKinds(facts)
        if let unknown = facts.unknownActivity {
            var finding = DiagnosisFinding(
                .activityUnknown, .blocked, "this app has no activity of this id, or it was erased",
                fix: "set it: PUT /v1/activities/{activity}; an id is case sensitive")
            finding.activity = unknown
            findings.append(finding)
        }
        for card in facts.cards {
            findings += CardDiagnosis(facts: facts, card: card).findings.map { finding in
                var finding = finding
                finding.activity = card.activity.id
                return finding
            }
        }
        return findings.enumerated().sorted { ($1.element.severity, $0.offset) < ($0.element.severity, $1.offset) }
            .map(\.element)
    }

    // MARK: - The device

    private static func device(_ facts: DiagnosisFacts) -> [DiagnosisFinding] {
        let device = facts.device
        var findings: [DiagnosisFinding] = []
        if let at = device.signedOutAt {
            findings.append(
                DiagnosisFinding(
                    .deviceSignedOut, .blocked, "the person signed out on this phone: nothing is started or updated",
                    fix: "the app must register again when somebody signs in: PUT /v1/devices/{device}",
                    evidence: ["at": .string(at.description)]))
        }
        if device.activitiesEnabled == false {
            findings.append(
                DiagnosisFinding(
                    .liveActivitiesDisabled, .blocked, "Live Activities are disabled for the app on this phone",
                    fix: "the person must allow them in Settings; the app then reports `activitiesEnabled: true`"))
        }
        if device.notificationAuthorization == "denied" {
            findings.append(
                DiagnosisFinding(
                    .notificationsDenied, .warning,
                    "the person denied notifications: ordinary alerts show nothing; Live Activities have a switch of "
                        + "their own", evidence: ["notificationAuthorization": "denied"]))
        }
        findings += system(device)
        if facts.now - device.contactAt > silence {
            findings.append(
                DiagnosisFinding(
                    .phoneSilent, .warning, "the phone has not contacted the server for more than a week",
                    fix: "open the app on the phone; if the app was removed, APNs answers 410 after some time",
                    evidence: ["contactAt": .string(device.contactAt.description)]))
        }
        return findings
    }

    private static func system(_ device: DeviceRecord) -> [DiagnosisFinding] {
        guard let version = device.osVersion else {
            return [
                DiagnosisFinding(
                    .systemUnknown, .note, "the phone never reported its iOS version: 17.2 or later is assumed",
                    fix: "report `osVersion`")
            ]
        }
        guard version < .pushToStart else { return [] }
        return [
            DiagnosisFinding(
                .systemTooOld, .warning, "iOS \(version) cannot start cards by push; updates and ends work",
                fix: "the app must start the card itself", evidence: ["osVersion": .string(version.description)])
        ]
    }

    private static func environments(_ facts: DiagnosisFacts) -> [DiagnosisFinding] {
        let device = facts.device
        var findings: [DiagnosisFinding] = []
        if device.environment == nil {
            findings.append(
                DiagnosisFinding(
                    .environmentNotNamed, .warning,
                    "the phone never reported its environment; pushes go to \(facts.app.defaultEnvironment.rawValue)",
                    fix: "report `environment`: sandbox for builds from Xcode, production for TestFlight and App Store",
                    evidence: ["assumed": .string(facts.app.defaultEnvironment.rawValue)]))
        }
        let tokens =
            facts.deviceTokens.filter { $0.deadAt == nil }.map(\.environment)
            + facts.cards.compactMap { card in
                card.phone?.updateToken.flatMap { $0.deadAt == nil ? $0.environment : nil }
            }
        for environment in APNSEnvironment.allCases
        where (tokens.contains(environment) || device.environment == environment)
            && !facts.app.environments.contains(environment)
        {
            findings.append(
                DiagnosisFinding(
                    .environmentNotConfigured, .blocked,
                    "the phone's tokens belong to \(environment.rawValue), for which no key is configured",
                    fix: "add `apns: {\(environment.rawValue): …}` to the app in islet.yaml",
                    evidence: ["environment": .string(environment.rawValue)]))
        }
        if let named = device.environment, tokens.contains(named.other) {
            findings.append(
                DiagnosisFinding(
                    .environmentMismatch, .warning,
                    "the phone reported \(named.rawValue), but has a token that is used in \(named.other.rawValue)",
                    fix: "register the device again: its tokens then move to the environment that it reports",
                    evidence: ["named": .string(named.rawValue), "used": .string(named.other.rawValue)]))
        }
        return findings
    }

    // MARK: - The way to APNs

    private static func routes(_ facts: DiagnosisFacts) -> [DiagnosisFinding] {
        facts.routes.filter { $0.key.app == facts.app.bundleID }
            .sorted { $0.key.environment.rawValue < $1.key.environment.rawValue }
            .map { route, status in
                let evidence: JSONObject = [
                    "environment": .string(route.environment.rawValue), "since": .string(status.openSince.description),
                    "nextAttemptAt": .string(status.nextProbeAt.description),
                    "code": .string(status.reason.code.rawValue),
                ]
                return status.isHalt
                    ? DiagnosisFinding(
                        .routeHalted, .blocked, status.reason.text,
                        fix: "correct the key, its team or its topic (`islet doctor` says which); the work is kept",
                        evidence: evidence)
                    : DiagnosisFinding(.routeInTrouble, .waiting, status.reason.text, evidence: evidence)
            }
    }

    private static func clock(_ facts: DiagnosisFacts) -> [DiagnosisFinding] {
        facts.clockSkew.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { environment, skew in
            let size = skew < .zero ? .zero - skew : skew
            guard size > noticeableSkew else { return nil }
            return DiagnosisFinding(
                .clockSkew, size > unbearableSkew ? .blocked : .warning,
                "APNs's clock and this machine's differ by \(size.components.seconds) s: iOS ignores a push whose "
                    + "timestamp is not newer than the last",
                fix: "synchronize this machine's clock with NTP",
                evidence: [
                    "environment": .string(environment.rawValue),
                    "seconds": .number(JSONNumber(Int(skew.components.seconds))),
                ])
        }
    }

    // MARK: - Tokens of the wrong kind

    /// Returns findings about the most frequent mistake of an app: a token of one kind that was reported as another.
    private static func tokenKinds(_ facts: DiagnosisFacts) -> [DiagnosisFinding] {
        var kinds: [TokenValue: Set<String>] = [:]
        for token in facts.deviceTokens {
            kinds[token.value, default: []].insert(token.kind == .device ? "device token" : "push-to-start token")
        }
        for card in facts.cards {
            if let token = card.phone?.updateToken { kinds[token.value, default: []].insert("update token") }
        }
        return kinds.filter { $0.value.count > 1 }.sorted { $0.key.hex < $1.key.hex }.map { value, kinds in
            DiagnosisFinding(
                .tokenOfOtherKind, .blocked,
                "one token was reported as \(kinds.sorted().joined(separator: " and as "))",
                fix: "update tokens come from `activity.pushTokenUpdates`, start tokens from "
                    + "`Activity.pushToStartTokenUpdates`, device tokens from "
                    + "`didRegisterForRemoteNotificationsWithDeviceToken`",
                evidence: ["token": .string(value.description)])
        }
    }
}
