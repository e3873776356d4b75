import APNSClient
import APNSModel
import HTTP2TestServer
import NIOHTTP2
import Testing

/// The client repeats a push under the id it had, because APNs and the logs identify the push by its id.
@Suite(.timeLimit(.minutes(10))) struct SentAgainTests: Sending {
    private static let refused: TestServer.Script = { _ in [.reset(.refusedStream)] }
    private static let goAway: TestServer.Script = { request in
        [.goAway(HTTP2StreamID(Int(request.streamID) - 2), reason: "Shutdown")]
    }

    private static func answer(_ status: Int, _ reason: String) -> TestServer.Script {
        { _ in [.answer(status, body: #"{"reason":"\#(reason)"}"#)] }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reaction: TestServer.Script
    }

    static let cases = [
        Case(testDescription: "REFUSED_STREAM", reaction: refused), Case(testDescription: "GOAWAY", reaction: goAway),
        Case(testDescription: "IdleTimeout", reaction: answer(400, "IdleTimeout")),
        Case(testDescription: "Shutdown", reaction: answer(503, "Shutdown")),
        Case(testDescription: "ExpiredProviderToken", reaction: answer(403, "ExpiredProviderToken")),
        Case(testDescription: "TooManyProviderTokenUpdates", reaction: answer(429, "TooManyProviderTokenUpdates")),
    ]

    @Test(arguments: cases)
    func `it has the same path, headers and body, whatever made the client send it again`(example: Case) async throws {
        try await TestServer.run { request in
            request.number == 2 ? example.reaction(request) : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let push = try push(2)
                let answer = try await client.send(push)
                #expect(answer.status == 200 && answer.id == push.request.id)
                let requests = server.requests.dropFirst()
                try #require(requests.count == 2)
                let headers = requests.map { request in request.headers.filter { $0.key != "authorization" } }
                #expect(headers[0] == headers[1] && headers[0]["apns-id"] == push.request.id.description)
                #expect(requests.allSatisfy { $0.body == push.request.payload })
            }
        }
    }
}
