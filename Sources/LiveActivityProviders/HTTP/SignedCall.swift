import APNSModel
import AsyncHTTPClient
import LiveActivityCore
import NIOCore
import NIOHTTP1

/// Calls of one address of the app's backend, signed as Standard Webhooks has it. Redirects are not followed.
struct SignedCall: Sendable {
    enum Failure: Error {
        /// The name leads where it may not, or nowhere.
        case place(String)
        case tooLong
        case late(String)
        case broken(String)
    }

    private let target: HTTPProvider.Target
    private let connections: ProviderConnections
    private let place: HostPlace

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
    init?(_ target: HTTPProvider.Target, _ connections: ProviderConnections) {
        guard HTTPProvider.isAllowed(target.url, allowPrivate: target.allowPrivate),
            let place = HostPlace(target.url)
        else { return nil }
        self.target = target
        self.connections = connections
        self.place = place
    }

    /// - Parameters:
    ///   - id: What the receiver knows a repetition by.
    ///   - read: What is made of the answer, inside the same connection.
    func post<Answer: Sendable>(
        _ body: [UInt8], id: String, at time: UnixTime, read: (HTTPClientResponse) async throws -> Answer
    ) async throws(Failure) -> Answer {
        if !target.allowPrivate, let problem = await place.problem() { throw .place(problem) }
        var request = HTTPClientRequest(url: target.url)
        request.method = .POST
        request.headers = [
            "content-type": "application/json", "accept": "application/json", "user-agent": "Islet",
            "webhook-id": id, "webhook-timestamp": String(time.seconds),
            "webhook-signature": target.secret.signature(id: id, timestamp: time.seconds, body: body),
        ]
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            return try await read(
                connections.client.execute(request, timeout: .nanoseconds(target.timeout.wholeNanoseconds)))
        } catch is NIOTooManyBytesError {
            throw .tooLong
        } catch let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout {
            throw .late("no answer within \(target.timeout)")
        } catch {
            throw .broken("the call failed: \(type(of: error))")
        }
    }
}
