import Foundation
import Glibc
import Testing

@testable import islet

/// A server under systemd, which waits until it is told that the server is ready.
@Suite struct ServiceManagerTests {
    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `the service manager is told when the server answers calls`(isAbstract: Bool) async throws {
        let name = "islet-\(UUID().uuidString)"
        let path = isAbstract ? "@\(name)" : FileManager.default.temporaryDirectory.appending(path: name).path
        defer { if !isAbstract { unlink(path) } }
        let listener = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(listener) }
        let address = try #require(ServiceManager.address(path))
        let isBound = withUnsafePointer(to: address.value) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, address.length) == 0 }
        }
        try #require(isBound)
        var surroundings = DemoStage.Surroundings()
        surroundings.environment = ["NOTIFY_SOCKET": path]
        // The stage begins when the server has said that it listens, and the notice comes right after.
        try await withStage(surroundings) { _ in
            try await Waiting.until("systemd is told", within: .seconds(60)) {
                var bytes = [UInt8](repeating: 0, count: 100)
                let count = recv(listener, &bytes, bytes.count, CInt(MSG_DONTWAIT))
                return count > 0 && String(decoding: bytes.prefix(count), as: UTF8.self) == "READY=1"
            }
        }
    }

    @Test(arguments: [
        "", "relative", "/" + String(repeating: "x", count: 108), "@" + String(repeating: "x", count: 108),
    ])
    func `an address that names no socket is passed over`(path: String) {
        #expect(ServiceManager.address(path) == nil)
        ServiceManager.ready(["NOTIFY_SOCKET": path])
    }
}
