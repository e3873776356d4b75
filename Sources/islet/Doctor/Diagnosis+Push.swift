import APNSModel

extension Diagnosis {
    /// A push to a token that cannot be one: its refusal says what APNs thinks of everything else.
    static func push(_ route: DoctorFacts.RouteFacts) -> Finding {
        switch route.push {
        case nil: Finding(.push, .skipped, "\(route.subject): there is no connection, or no signature")
        case .failure(let failure)?:
            Finding(
                .push, .failed, "\(route.subject): no answer: \(failure)",
                advice: "run this again; if it stays so, look at what stands between this machine and \(route.endpoint)"
            )
        case .success(let answer)?: push(route, answer)
        }
    }

    private static func push(_ route: DoctorFacts.RouteFacts, _ answer: PushAnswer) -> Finding {
        let said = "\(answer.status)\(answer.reason.map { " \($0.text)" } ?? "")"
        func finding(_ outcome: Finding.Outcome, _ detail: String, _ advice: String?) -> Finding {
            Finding(.push, outcome, "\(route.subject): \(detail) (\(said))", advice: advice)
        }
        if case .known(let reason)? = answer.reason, let finding = telling(reason, route, finding) { return finding }
        switch answer.verdict {
        case .tokenDead:
            return finding(.ok, "APNs takes \(route.key) for the app, and refuses only the token made up for this", nil)
        case .accepted:
            return finding(
                .warning, "it accepted a token that cannot be one", "what answers there is not APNs: check `endpoint`")
        case .slowDown, .serviceTrouble, .newConnection, .keepProviderToken:
            return finding(.warning, "APNs answers, but not to the point", "run this again in a moment")
        case .renewProviderToken, .halted, .requestRefused:
            return finding(.failed, "APNs refuses the request", "see Apple's page on the responses of APNs")
        }
    }

    /// The refusals with a cause and a cure of their own.
    private static func telling(
        _ reason: APNSReason.Known, _ route: DoctorFacts.RouteFacts,
        _ finding: (Finding.Outcome, String, String?) -> Finding
    ) -> Finding? {
        let environment = route.environment
        switch reason {
        case .invalidProviderToken:
            return finding(
                .failed, "APNs does not accept the signature of \(route.key)",
                "the .p8 file, keyID and teamID must belong together: compare them with the portal's list of keys and "
                    + "\"Membership details\"; a revoked key has to be replaced")
        case .expiredProviderToken:
            return finding(
                .failed, "APNs calls a token that was signed just now expired", "set this machine's clock right (NTP)")
        case .badEnvironmentKeyIdInToken:
            return finding(
                .failed, "\(route.key) is not for \(environment.rawValue)",
                "make a key for \(environment.rawValue) in the portal, or move this one to "
                    + "apns/\(environment.other.rawValue)")
        case .topicDisallowed, .badTopic, .missingTopic:
            return finding(
                .failed, "\(route.key) may not push to the Live Activities of \(route.app)",
                "check bundleID, that the app is the team's, that its App ID has push notifications enabled, and that "
                    + "the key is not restricted to other topics")
        case .missingProviderToken, .badCertificate, .badCertificateEnvironment, .forbidden, .unrelatedKeyIdInToken:
            return finding(
                .failed, "APNs does not let \(route.key) in",
                "something between may strip or change the request's headers: connect without a proxy")
        default: return nil
        }
    }
}
