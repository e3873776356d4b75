import Foundation
import HTTP2TestServer
import JSONText
import Testing

@testable import islet

struct NodeTLSTests {
    @Test func `calls between nodes are encrypted with tls, and go only to a node whose certificate is trusted`()
        async throws
    {
        try await withNodes(2) { nodes, stage in
            let authority = try TestAuthority()
            let identity = try authority.makeIdentity()
            func file(_ name: String, _ text: String) throws -> String {
                let url = stage.directory.appendingPathComponent(name)
                try Data(text.utf8).write(to: url)
                return url.path
            }
            let roots = [
                "ISLET_NODES_TRUST_ROOTS": try file("ca.pem", String(decoding: authority.rootPEM, as: UTF8.self))
            ]
            try await nodes.stop(1)
            let encrypted = [
                "ISLET_TLS_CERTIFICATE": try file("certificate.pem", identity.certificate),
                "ISLET_TLS_KEY": try file("key.pem", identity.key),
                "ISLET_NODES_ADDRESS": "https://127.0.0.1:\(nodes.peerPorts[1])",
            ]
            try await nodes.start(1, environment: encrypted.merging(roots) { $1 })
            await stage.stopServer()
            try await stage.startServer(roots, within: .seconds(60))
            try await Waiting.until("the encrypted node owns the database", within: .seconds(60)) {
                (try? await nodes.set("preparing", through: 0)) == 1
            }
            #expect(try await nodes.command("nodes", "--json").contains("https://127.0.0.1:\(nodes.peerPorts[1])"))
            // Without the authority's certificate.
            await stage.stopServer()
            try await stage.startServer(within: .seconds(60))
            let refusal = await #expect(throws: JSONCaller.Refusal.self) { try await nodes.set("ready", through: 0) }
            #expect(refusal?.status == 503 && refusal?.code == "storage_unavailable")
            #expect(
                try String(contentsOf: stage.directory.appendingPathComponent("server.log"), encoding: .utf8)
                    .contains("CERTIFICATE_VERIFY_FAILED"))
            await stage.stopServer()
            try await stage.startServer(roots, within: .seconds(60))
            try await Waiting.until("the owner is trusted again", within: .seconds(60)) {
                (try? await nodes.set("ready", through: 0)) == 2
            }
        }
    }
}
