import Foundation
import HTTPTypes
import JSONText
import LoopbackServer
import Testing

@testable import islet

/// `islet doctor --device` asks a running server.
@Suite(.serialized) struct DeviceDoctorTests {
    private static let answer = #"""
        {"device":"phone 1","user":"ada","at":"2026-11-21T14:32:00Z","verdict":"blocked","findings":[
          {"id":"start-token-missing","severity":"blocked","activity":"a","text":"no token","fix":"report it",
           "evidence":{"type":"Order"}},
          {"id":"held","severity":"note","text":"it holds it","evidence":{}}]}
        """#

    @Test func `it prints what the server found, with the evidence and what to do, and fails where it is blocked`()
        async throws
    {
        try await withLoopbackServer({ _ in httpAnswer(.init(code: 200), Self.answer) }) { address, asked in
            let folder = try Folder()
            let run = try await Execution.of(
                ["doctor", "--device", "phone 1", "--activity", "a/1", "--server", address], in: folder,
                environment: ["ISLET_KEY": "islet_key"])
            #expect(run.code == 1)
            let call = asked().first
            #expect(call?.line == "GET /v1/devices/phone%201/diagnosis?activity=a%2F1")
            #expect(call?.authorization == "Bearer islet_key")
            #expect(
                run.output == """
                    phone 1: blocked
                    blocked  start-token-missing (a): no token
                             type=Order
                             -> report it
                    note     held: it holds it

                    """)
            let json = try await Execution.of(
                ["doctor", "--device", "phone 1", "--server", address, "--key", "k", "--json"], in: folder)
            #expect(json.code == 1, "\(json.refusals)")
            #expect(try JSONValue(parsing: json.output).object?["verdict"] == "blocked")
        }
    }

    @Test func `without a key, a server, or a device it says what is missing`() async throws {
        let folder = try Folder()
        let keyless = try await Execution.of(["doctor", "--device", "d"], in: folder, environment: ["ISLET_KEY": ""])
        #expect(keyless.code == 1 && keyless.refusals.first?.contains("ISLET_KEY") == true)
        let nobody = try await Execution.of(
            ["doctor", "--device", "d", "--server", "http://127.0.0.1:1", "--key", "k"], in: folder)
        #expect(nobody.code == 1 && nobody.refusals.first?.contains("does not answer") == true)
        #expect(try await Execution.of(["doctor", "--activity", "a"], in: folder).code == 64)
        let refusal = #"{"code":"scope_missing","detail":"this key may not"}"#
        try await withLoopbackServer({ _ in httpAnswer(.init(code: 403), refusal) }) { address, _ in
            let refused = try await Execution.of(
                ["doctor", "--device", "d", "--server", address, "--key", "k"], in: folder)
            #expect(refused.refusals.first?.contains("403 scope_missing") == true)
        }
    }
}
