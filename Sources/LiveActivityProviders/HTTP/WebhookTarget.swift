import APNSModel
import JSONText
package import LiveActivityCore
import NIOHTTP1
import OutboundHTTP

/// Endpoint of an app's events. Each event is a signed call, of whose answer only the status and `Retry-After` count.
package struct WebhookTarget: Sendable {
    private let call: SignedCall

    /// Maximum number of bytes of an answer that are read, so that the connection can be reused.
    private static let answerBytes = 64 * 1024

    /// Creates the endpoint. Returns `nil` unless the URL is `https` with a host, without a user. With `allowPrivate`,
    /// `http` is also accepted.
    package init?(_ target: HTTPProvider.Target, _ connections: ProviderConnections) {
        guard let call = SignedCall(target, connections) else { return nil }
        self.call = call
    }

    /// Sends an event. Redirects are not followed and count as failures.
    @concurrent
    package func send(_ message: WebhookMessage) async -> WebhookQueue.Outcome {
        do throws(SignedCall.Failure) {
            // The answer's body is ignored. A longer one closes the connection.
            let answer = try await call.post(
                JSONValue.object(message.event.document).bytes, id: message.event.messageID, at: message.at,
                answerBytes: Self.answerBytes)
            let wait = answer.headers.first(name: "retry-after").flatMap { Int($0) }.map {
                Duration.seconds(max(0, $0))
            }
            return switch answer.status {
            case 200..<300: .taken
            case 410: .unsubscribed
            default: .failed("HTTP \(answer.status)", retryAfter: wait)
            }
        } catch {
            return switch error {
            case .place(let problem), .late(let problem), .broken(let problem): .failed(problem)
            }
        }
    }
}
