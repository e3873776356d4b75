import APNSClient
import APNSModel
import Logging

// article: outcomes
/// What the caller does about one push.
enum Consequence {
    case done, forgetToken, tryAgain(after: Duration), fixConfiguration, fixRequest, mayHaveArrived
}

func deliver(_ request: PushRequest, over client: APNSClient) async -> Consequence {
    do throws(PushFailure) {
        let answer = try await client.send(request, within: .seconds(30))
        switch answer.verdict {
        case .accepted: return .done
        case .tokenDead: return .forgetToken
        case .slowDown: return .tryAgain(after: .seconds(30))
        // Apple asks for a quarter of an hour; the newest state goes then, not this one.
        case .serviceTrouble: return .tryAgain(after: .seconds(900))
        // The client has mended these once by itself.
        case .renewProviderToken, .newConnection, .keepProviderToken: return .tryAgain(after: .seconds(60))
        case .halted: return .fixConfiguration
        case .requestRefused: return .fixRequest
        }
    } catch {
        return error.mayHaveArrived ? .mayHaveArrived : .tryAgain(after: .seconds(5))
    }
}
// end

// article: observer
struct PushLog: APNSClientObserver {
    let logger: Logger

    func pushAnswered(_ push: APNSClient.PushInfo, answer: PushAnswer, after duration: Duration) {
        logger.info("answered", metadata: ["id": "\(push.id)", "verdict": "\(answer.verdict)", "after": "\(duration)"])
    }

    func connectionFailed(_ connection: APNSClient.ConnectionInfo, reason: APNSClient.ConnectionEndReason) {
        logger.warning("no connection", metadata: ["endpoint": "\(connection.endpoint)", "reason": "\(reason)"])
    }
}
// end

func watched(pizza: APNSClient.Route, logger: Logger) throws -> APNSClient {
    // article: proxy
    var options = APNSClient.Options()
    options.proxy = try APNSClient.Proxy(host: "proxy.example.com", port: 3128, user: "push", password: "secret")
    let client = try APNSClient(routes: [pizza], options: options, observer: PushLog(logger: logger))
    // end
    return client
}
