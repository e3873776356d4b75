import APNSModel
import LiveActivityCore

extension Diagnosis {
    /// Returns the finding about a push to a token that cannot exist. Its refusal shows whether APNs accepts everything
    /// else.
    static func push(_ route: DoctorFacts.RouteFacts) -> Finding {
        switch route.push {
        case nil: Finding(.pushNotChecked, "\(route.subject): no connection, or the key cannot sign")
        case .failure(let failure)?:
            Finding(
                .pushUnanswered, "\(route.subject): no answer: \(failure)",
                fix: "run this again; if it still fails, check firewalls and proxies between this machine and "
                    + "\(route.endpoint)")
        case .success(let answer)?: push(route, answer)
        }
    }

    /// Returns the finding about the list of the app's broadcast channels.
    static func channels(_ route: DoctorFacts.RouteFacts) -> Finding {
        switch route.channels {
        case nil: return Finding(.channelNotChecked, "\(route.subject): no connection, or the key cannot sign")
        case .success(let count)?:
            let id: Finding.ID = count < ClaimChannels.automaticLimit ? .channelGood : .channelFew
            return Finding(id, "\(route.subject): \(count) of 10,000 broadcast channels are in use")
        case .failure(let error)?:
            if error.reason == .featureNotEnabled {
                return Finding(
                    .channelNotEnabled, "\(route.subject): the App ID has no Broadcast Capability (FeatureNotEnabled)")
            }
            if case .refused = error.code { return Finding(.channelRefused, "\(route.subject): \(error)") }
            return Finding(.channelUnanswered, "\(route.subject): \(error)")
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
                .pushGood,
                "APNs accepts \(route.key) for the app; it refused only the invalid test token, "
                    + "as expected", nil)
        case .accepted: return finding(.pushNotAPNs, "the endpoint accepted an invalid token", nil)
        case .slowDown, .serviceTrouble, .newConnection, .keepProviderToken:
            return finding(.pushVague, "APNs answered with a temporary error, so the key could not be checked", nil)
        case .renewProviderToken, .halted, .requestRefused:
            return finding(.pushRefused, "APNs refused the request", nil)
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
            return finding(.pushExpired, "APNs says that a provider token signed just now has expired", nil)
        case .badEnvironmentKeyIdInToken:
            return finding(
                .pushEnvironment, "\(route.key) is not for \(environment.rawValue)",
                "create a key for \(environment.rawValue) in the portal, or move this key to "
                    + "apns/\(environment.other.rawValue)")
        case .topicDisallowed, .badTopic, .missingTopic:
            return finding(.pushTopic, "\(route.key) may not push to the Live Activities of \(route.app)", nil)
        case .missingProviderToken, .badCertificate, .badCertificateEnvironment, .forbidden, .unrelatedKeyIdInToken:
            return finding(.pushNotLetIn, "APNs denied access to \(route.key) (missing or invalid authorization)", nil)
        default: return nil
        }
    }
}
