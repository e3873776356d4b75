import APNSModel

extension Diagnosis {
    /// Returns the finding about a push to a token that cannot exist. Its refusal shows whether APNs accepts everything
    /// else.
    static func push(_ route: DoctorFacts.RouteFacts) -> Finding {
        switch route.push {
        case nil: Finding(.pushNotChecked, "\(route.subject): there is no connection, or no signature")
        case .failure(let failure)?:
            Finding(
                .pushUnanswered, "\(route.subject): no answer: \(failure)",
                fix: "run this again; if it stays so, look at what stands between this machine and \(route.endpoint)")
        case .success(let answer)?: push(route, answer)
        }
    }

    private static func push(_ route: DoctorFacts.RouteFacts, _ answer: PushAnswer) -> Finding {
        let said = "\(answer.status)\(answer.reason.map { " \($0.text)" } ?? "")"
        func finding(_ id: Finding.ID, _ detail: String, _ fix: String? = nil) -> Finding {
            Finding(id, "\(route.subject): \(detail) (\(said))", fix: fix)
        }
        if case .known(let reason)? = answer.reason, let finding = telling(reason, route, finding) { return finding }
        switch answer.verdict {
        case .tokenDead:
            return finding(
                .pushGood, "APNs takes \(route.key) for the app, and refuses only the token made up for this", nil)
        case .accepted: return finding(.pushNotAPNs, "it accepted a token that cannot be one", nil)
        case .slowDown, .serviceTrouble, .newConnection, .keepProviderToken:
            return finding(.pushVague, "APNs answers, but not to the point", nil)
        case .renewProviderToken, .halted, .requestRefused:
            return finding(.pushRefused, "APNs refuses the request", nil)
        }
    }

    /// Returns the finding for a refusal with a specific cause and repair.
    private static func telling(
        _ reason: APNSReason.Known, _ route: DoctorFacts.RouteFacts,
        _ finding: (Finding.ID, String, String?) -> Finding
    ) -> Finding? {
        let environment = route.environment
        switch reason {
        case .invalidProviderToken:
            return finding(.pushSignature, "APNs does not accept the signature of \(route.key)", nil)
        case .expiredProviderToken:
            return finding(.pushExpired, "APNs calls a token that was signed just now expired", nil)
        case .badEnvironmentKeyIdInToken:
            return finding(
                .pushEnvironment, "\(route.key) is not for \(environment.rawValue)",
                "make a key for \(environment.rawValue) in the portal, or move this one to "
                    + "apns/\(environment.other.rawValue)")
        case .topicDisallowed, .badTopic, .missingTopic:
            return finding(.pushTopic, "\(route.key) may not push to the Live Activities of \(route.app)", nil)
        case .missingProviderToken, .badCertificate, .badCertificateEnvironment, .forbidden, .unrelatedKeyIdInToken:
            return finding(.pushNotLetIn, "APNs does not let \(route.key) in", nil)
        default: return nil
        }
    }
}
