import APNSModel
import LiveActivityCore
import NIOHTTP1
import OutboundHTTP

/// Calls to one URL of the app's backend, signed according to Standard Webhooks. Redirects are not followed.
struct SignedCall: Sendable {
    enum Failure: Error {
        /// The host is unknown, or its address is not allowed.
        case place(String)
        case late(String)
        case broken(String)
    }

    private let target: HTTPProvider.Target
    private let connections: ProviderConnections
    private let place: OutboundURL

    /// Creates the call. Returns `nil` unless the URL is `https` with a host, without a user. With `allowPrivate`,
    /// `http` is also accepted.
    init?(_ target: HTTPProvider.Target, _ connections: ProviderConnections) {
        guard HTTPProvider.isAllowed(target.url, allowPrivate: target.allowPrivate),
            let place = OutboundURL(target.url)
        else { return nil }
        self.target = target
        self.connections = connections
        self.place = place
    }

    /// Sends the body by POST.
    ///
    /// - Parameters:
    ///   - id: Id by which the receiver deduplicates.
    ///   - answerBytes: Maximum number of bytes of the answer's body that are read.
    func post(
        _ body: [UInt8], id: String, at time: UnixTime, answerBytes: Int
    ) async throws(Failure) -> OutboundAnswer {
        let headers: HTTPHeaders = [
            "content-type": "application/json", "accept": "application/json", "user-agent": "Islet",
            "webhook-id": id, "webhook-timestamp": String(time.seconds),
            "webhook-signature": target.secret.signature(id: id, timestamp: time.seconds, body: body),
        ]
        var request = OutboundRequest(
            .POST, place, headers, body: body, timeout: target.timeout, maximumAnswerBytes: answerBytes)
        request.isPublicOnly = !target.allowPrivate
        do throws(OutboundError) {
            return try await connections.client.call(request)
        } catch {
            switch error {
            case .unknownHost, .privateAddress: throw .place(error.description)
            case .late: throw .late(error.description)
            case .busy, .unreachable, .closed, .malformed, .tooLong, .stopped:
                throw .broken("the call failed: \(error)")
            }
        }
    }
}
