import APNSModel
import JSONText
package import LiveActivityCore
import NIOHTTP1
import OutboundHTTP

/// Where an app's events are told: a signed call each, of whose answer nothing but the status is looked at.
package struct WebhookTarget: Sendable {
    private let call: SignedCall

    /// The most bytes of an answer that are read, so that the connection can be used again.
    private static let answerBytes = 64 * 1024

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
    package init?(_ target: HTTPProvider.Target, _ connections: ProviderConnections) {
        guard let call = SignedCall(target, connections) else { return nil }
        self.call = call
    }

    /// Redirects are not followed: they count as failures.
    @concurrent
    package func send(_ message: WebhookMessage) async -> WebhookQueue.Outcome {
        do throws(SignedCall.Failure) {
            // The answer's words are nobody's business here; one that is longer ends the connection.
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
