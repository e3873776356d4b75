import APNSModel
import NIOHTTP1
import OutboundHTTP

/// Address of a small document that is read over HTTPS. Redirects are not followed, private addresses are refused, and
/// the size is limited.
package struct DocumentAddress: Sendable {
    /// Reason why there is no document, as text for the log.
    package struct Failure: Error, Sendable, Equatable {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    package struct Document: Sendable, Equatable {
        package var bytes: [UInt8]
        package var cacheControl: String?
    }

    private let request: OutboundRequest
    private let connections: ProviderConnections

    /// Creates the address. Returns `nil` unless the URL is `https` with a host, without a user. With `allowPrivate`,
    /// `http` is also accepted.
    package init?(
        _ url: String, allowPrivate: Bool, maximumBytes: Int, timeout: Duration = .seconds(10),
        _ connections: ProviderConnections
    ) {
        guard HTTPProvider.isAllowed(url, allowPrivate: allowPrivate), let place = OutboundURL(url) else { return nil }
        var request = OutboundRequest(
            .GET, place, ["accept": "application/json", "user-agent": "Islet"], timeout: timeout,
            maximumAnswerBytes: maximumBytes)
        request.isPublicOnly = !allowPrivate
        self.request = request
        self.connections = connections
    }

    @concurrent
    package func read() async throws(Failure) -> Document {
        let answer: OutboundAnswer
        do throws(OutboundError) { answer = try await connections.client.call(request) } catch {
            throw Failure(description: error.description)
        }
        guard answer.status == 200 else { throw Failure(description: "HTTP \(answer.status)") }
        guard !answer.isCut else {
            throw Failure(description: OutboundError.tooLong(request.maximumAnswerBytes).description)
        }
        let directives = answer.headers[canonicalForm: "cache-control"].joined(separator: ",")
        return Document(bytes: answer.body, cacheControl: directives.isEmpty ? nil : directives)
    }
}
