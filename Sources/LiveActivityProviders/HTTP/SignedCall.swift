import APNSModel
import LiveActivityCore
import NIOHTTP1
import OutboundHTTP

/// Calls of one address of the app's backend, signed as Standard Webhooks has it. Redirects are not followed.
struct SignedCall: Sendable {
    enum Failure: Error {
        /// The name leads where it may not, or nowhere.
        case place(String)
        case late(String)
        case broken(String)
    }

    private let target: HTTPProvider.Target
    private let connections: ProviderConnections
    private let place: OutboundURL

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
    init?(_ target: HTTPProvider.Target, _ connections: ProviderConnections) {
        guard HTTPProvider.isAllowed(target.url, allowPrivate: target.allowPrivate),
            let place = OutboundURL(target.url)
        else { return nil }
        self.target = target
        self.connections = connections
        self.place = place
    }

    /// - Parameters:
    ///   - id: What the receiver knows a repetition by.
    ///   - answerBytes: The bytes of an answer's body that are read.
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
