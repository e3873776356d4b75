import APNSClient
import APNSModel
import Foundation
import HTTP2TestServer
import Testing

/// nghttpd: HTTP/2 by libnghttp2, TLS by OpenSSL. It echoes every body and answers 200.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: ForeignServer.Tool.nghttpd.isExpected, "nghttpd is missing (Debian's nghttp2-server)"))
struct NghttpdTests: Sending {
    private func withServer(_ options: [String], _ body: (APNSClient) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path
        try await ForeignServer.run(
            .nghttpd,
            arguments: { certificate, key, port in
                ["--address=127.0.0.1", "--echo-upload", "--htdocs=\(folder)"] + options
                    + ["\(port)", key, certificate]
            },
            body: { server in
                let route = APNSClient.Route(
                    bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(),
                    endpoint: try server.endpoint, trustRoots: .pem(server.authority.rootPEM))
                var options = APNSClient.Options()
                options.maximumReconnectDelay = .milliseconds(100)
                let client = try APNSClient(routes: [route], options: options)
                do {
                    try await body(client)
                } catch {
                    await client.end(within: .zero)
                    throw error
                }
                await client.end(within: .seconds(5))
            })
    }

    @Test(arguments: [
        [], ["--max-concurrent-streams=1"], ["--max-concurrent-streams=1000"], ["--padding=255"],
        ["--header-table-size=0"], ["--header-table-size=64"], ["--window-bits=1"], ["--connection-window-bits=1"],
        ["--window-bits=30", "--connection-window-bits=30"], ["--encoder-header-table-size=4096"],
        ["--workers=2", "--max-concurrent-streams=500"],
    ])
    func `many pushes are accepted, whatever its options`(options: [String]) async throws {
        try await withServer(options) { client in
            // With a window of one byte, each byte of a body takes a round trip.
            let count = options.contains { $0.hasSuffix("window-bits=1") } ? 20 : 2_000
            let outcomes = await sendAll(client, try (1...count).map { try push($0, fill: $0 % 900) })
            #expect(outcomes.accepted == count && outcomes.areCompleteOnce)
            #expect(outcomes.failures.isEmpty)
        }
    }

    @Test func `large bodies come and go through its windows`() async throws {
        try await withServer([]) { client in
            let first = try await sendForStatus(client, 1)
            #expect(first == 200)
            let outcomes = await sendAll(client, try (2...300).map { try push($0, fill: 3_500) })
            #expect(outcomes.accepted == 299 && outcomes.areCompleteOnce)
        }
    }
}
