import APNSClient
import APNSModel
import Foundation
import HTTP2TestServer
import Testing

/// A server on Python's h2 that misbehaves on purpose; its scenarios are in `Servers/misbehaving.py`.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: ForeignServer.Tool.python.isExpected, "Python's h2 is missing (Debian's python3-h2)"))
struct MisbehavingServerTests: Sending {
    private struct Counts: Equatable {
        var received: Int
        var distinct: Int
        var connections: Int

        /// Parses `received N distinct M connections C`.
        init?(_ text: String) {
            let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let start = words.firstIndex(of: "received"), words.count >= start + 6,
                let received = Int(words[start + 1]), let distinct = Int(words[start + 3]),
                let connections = Int(words[start + 5])
            else { return nil }
            (self.received, self.distinct, self.connections) = (received, distinct, connections)
        }
    }

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Servers/misbehaving.py").path

    private func play(
        _ scenario: String, _ change: (inout APNSClient.Options) -> Void = { _ in },
        _ body: (APNSClient) async throws -> Void
    ) async throws -> Counts {
        let output = try await ForeignServer.run(
            .python, ready: "port ", last: "received ",
            arguments: { certificate, key, _ in [Self.script, certificate, key, scenario] },
            body: { server in
                var options = APNSClient.Options()
                options.maximumConnections = 1
                options.reconnectDelay = .milliseconds(1)
                options.maximumReconnectDelay = .milliseconds(20)
                change(&options)
                let route = APNSClient.Route(
                    bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(),
                    endpoint: try server.endpoint, trustRoots: .pem(server.authority.rootPEM))
                let client = try APNSClient(routes: [route], options: options)
                do {
                    try await body(client)
                } catch {
                    await client.end(within: .zero)
                    throw error
                }
                await client.end(within: .seconds(5))
            })
        return try #require(Counts(output), "the server said \(output)")
    }

    @Test(arguments: [
        "plain", "no-table", "bytewise", "tiny-windows", "no-window", "streams-change", "windows-change", "fragments",
        "interim", "chatter", "refuse", "goaway", "goaway-twice",
    ])
    func `what HTTP/2 allows costs the caller nothing`(scenario: String) async throws {
        let count = scenario == "bytewise" ? 60 : 300
        let counts = try await play(scenario) { client in
            let outcomes = await sendAll(client, try (1...count).map { try push($0, fill: $0 % 500) })
            #expect(outcomes.accepted == count && outcomes.areCompleteOnce)
            #expect(outcomes.failures.isEmpty)
        }
        #expect(counts.distinct == count)
        switch scenario {
        case "refuse", "goaway", "goaway-twice": #expect(counts.received > count)
        default: #expect(counts.received == count && counts.connections == 1)
        }
    }

    @Test func `a refusal is read from a body in pieces, with trailers`() async throws {
        let counts = try await play("refusals") { client in
            let outcomes = await sendAll(client, try (1...100).map { try push($0) })
            let answers = outcomes.each.compactMap { try? $0.get() }
            #expect(answers.count == 100 && answers.allSatisfy { $0.reason == .known(.unregistered) })
            #expect(answers.allSatisfy { $0.inactiveSince == UnixTime(milliseconds: 1_763_700_000_123) })
        }
        #expect(counts.received == 100 && counts.connections == 1)
    }

    @Test func `a reset that says nothing is an unknown fate, and is never sent again`() async throws {
        let counts = try await play("internal-error") { client in
            let outcomes = await sendAll(client, try (1...100).map { try push($0) })
            #expect(outcomes.accepted == 80 && outcomes.areCompleteOnce)
            #expect(outcomes.failureCodes == Array(repeating: .unknownFate, count: 20))
        }
        #expect(counts.received == 100 && counts.distinct == 100)
    }

    @Test(arguments: [
        "continuation-flood", "ping-flood", "settings-flood", "window-flood", "empty-data-flood", "reset-storm",
        "goaway-flood", "header-bomb", "bad-huffman", "huge-frame", "push-promise", "garbage", "mid-frame",
        "truncated-tls", "silence",
    ])
    func `an abusive connection is replaced, and costs only what was open on it`(scenario: String) async throws {
        let counts = try await play(
            scenario,
            {
                $0.keepAliveWhileBusy = .seconds(1)
                // Longer than a busy machine stalls, so that a sound connection is kept.
                $0.keepAliveTimeout = .seconds(10)
            }
        ) {
            client in
            for number in 1...4 {
                let status = try await sendForStatus(client, number)
                #expect(status == 200)
            }
            // The fifth push triggers the abuse. Later pushes may be open on the same connection or go elsewhere.
            let outcomes = await sendAll(client, try (5...54).map { try push($0) })
            #expect(outcomes.areCompleteOnce)
            #expect(outcomes.failureCodes.allSatisfy { $0 == .unknownFate })
            #expect(outcomes.accepted + outcomes.failures.count == 50)
            let after = await sendAll(client, try (55...104).map { try push($0) })
            #expect(after.accepted == 50, "the next connection is as good as new")
        }
        #expect(counts.received == counts.distinct, "what may have arrived was sent again")
        #expect(counts.connections >= 2)
    }

    @Test func `a server that speaks HTTP/1.1 after all is named, and pushes end in time`() async throws {
        let counts = try await play("http1") { client in
            let failure = try await connectFailure(client)
            #expect(failure?.code == .cannotConnect)
            #expect(failure?.detail.contains("HTTP/2") == true)
        }
        #expect(counts.received == 0)
    }
}
