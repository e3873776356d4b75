import APNSModel
import AsyncHTTPClient
import Foundation
import JSONText
package import LiveActivityCore
import NIOCore
import NIOHTTP1

/// Where an app's events are told: a signed call each, of whose answer nothing but the status is looked at.
package struct WebhookTarget: Sendable {
    private let target: HTTPProvider.Target
    private let connections: ProviderConnections
    private let place: HostPlace

    /// The most bytes of an answer that are read, so that the connection can be used again.
    private static let answerBytes = 64 * 1024

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
    package init?(_ target: HTTPProvider.Target, _ connections: ProviderConnections) {
        guard HTTPProvider.isAllowed(target.url, allowPrivate: target.allowPrivate),
            let place = HostPlace(target.url)
        else { return nil }
        self.target = target
        self.connections = connections
        self.place = place
    }

    /// Redirects are not followed: they count as failures.
    @concurrent
    package func send(_ message: WebhookMessage) async -> WebhookQueue.Outcome {
        if !target.allowPrivate, let problem = await place.problem() { return .failed(problem) }
        do {
            let response = try await connections.client.execute(
                request(message), timeout: .nanoseconds(target.timeout.wholeNanoseconds))
            let status = response.status.code
            let wait = response.headers.first(name: "retry-after").flatMap { Int($0) }.map {
                Duration.seconds(max(0, $0))
            }
            // Its words are nobody's business here; what is longer ends the connection.
            _ = try? await response.body.collect(upTo: Self.answerBytes)
            switch status {
            case 200..<300: return .taken
            case 410: return .unsubscribed
            default: return .failed("HTTP \(status)", retryAfter: wait)
            }
        } catch let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout {
            return .failed("no answer within \(target.timeout)")
        } catch {
            return .failed("the call failed: \(type(of: error))")
        }
    }

    private func request(_ message: WebhookMessage) -> HTTPClientRequest {
        let body = JSONValue.object(message.event.document).bytes
        let id = message.event.messageID
        var request = HTTPClientRequest(url: target.url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "Islet")
        request.headers.add(name: "webhook-id", value: id)
        request.headers.add(name: "webhook-timestamp", value: String(message.at.seconds))
        request.headers.add(
            name: "webhook-signature",
            value: target.secret.signature(id: id, timestamp: message.at.seconds, body: body))
        request.body = .bytes(ByteBuffer(bytes: body))
        return request
    }
}
