import APNSModel
import NIOHTTP1
import OutboundHTTP

/// A small document that is read over HTTPS, from where a configuration says, and of which no more is believed than its
/// limits allow: redirects are not followed, and addresses inside a network are refused.
package struct DocumentAddress: Sendable {
    /// Why there is none, in words for the log.
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

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
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
