import APNSModel
import AsyncHTTPClient
import JSONText
package import LiveActivityCore
import NIOHTTP1

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
            return try await call.post(
                JSONValue.object(message.event.document).bytes, id: message.event.messageID, at: message.at
            ) { response in
                let wait = response.headers.first(name: "retry-after").flatMap { Int($0) }.map {
                    Duration.seconds(max(0, $0))
                }
                // Its words are nobody's business here; what is longer ends the connection.
                _ = try? await response.body.collect(upTo: Self.answerBytes)
                return switch response.status.code {
                case 200..<300: .taken
                case 410: .unsubscribed
                default: .failed("HTTP \(response.status.code)", retryAfter: wait)
                }
            }
        } catch {
            return switch error {
            case .place(let problem), .late(let problem), .broken(let problem): .failed(problem)
            case .tooLong: .failed("the answer is too long")
            }
        }
    }
}
