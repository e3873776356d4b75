import APNSModel
import Foundation
import HTTP2TestServer
import LiveActivityServer
import Logging
import NIOSSL
import ServiceLifecycle
import TestSupport
import Testing

/// A certificate and its key, in a folder that is removed with this object.
final class CertificateFolder: Sendable {
    let files: CertificateFiles
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "islet-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        files = CertificateFiles(
            certificate: folder.appending(path: "a.crt").path, key: folder.appending(path: "a.key").path)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func write(_ identity: (certificate: String, key: String)) throws {
        try write(identity.certificate, to: files.certificate)
        try write(identity.key, to: files.key)
    }

    func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
}

@Suite struct CertificateTests {
    private static let http1 = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    /// Returns `true` if a client that trusts only this authority is served.
    private func isServed(_ address: LiveActivityServer.Address, trusting authority: TestAuthority) async throws -> Bool
    {
        let root = try NIOSSLCertificate(bytes: authority.rootPEM, format: .pem)
        let answer = Answer()
        try? await RawConnection.open(
            address, protocols: ["http/1.1"],
            tls: { configuration in
                configuration.certificateVerification = .noHostnameVerification
                configuration.trustRoots = .certificates([root])
            },
            { connection in
                await connection.send(Self.http1)
                await answer.take(await connection.text())
            })
        return await answer.text.hasPrefix("HTTP/1.1 200 ")
    }

    private actor Answer {
        var text = ""
        func take(_ text: String) { self.text = text }
    }

    @Test(.timeLimit(.minutes(2)))
    func `TLS speaks HTTP/2 to who asks for it, HTTP/1.1 to others, and nothing below TLS 1.2`() async throws {
        let folder = try CertificateFolder()
        try folder.write(TestAuthority().makeIdentity())
        try await withListeningServer(certificates: Certificates(folder.files)) { _, address in
            #expect(address.description.hasPrefix("https://127.0.0.1:"))
            try await RawConnection.open(address, protocols: ["h2", "http/1.1"]) { connection in
                await connection.send(
                    RawFrame.greeting + RawFrame.bytes(type: 1, flags: 5, stream: 1, RawFrame.get("/healthz")))
                let bytes = await connection.read { RawFrame.parse($0).contains { $0.type == 0 && $0.stream == 1 } }
                let frames = RawFrame.parse(bytes)
                // 0x88 is `:status: 200`.
                #expect(frames.first { $0.type == 1 }?.payload.first == 0x88)
                let body = frames.filter { $0.type == 0 }.flatMap(\.payload)
                #expect(String(decoding: body, as: UTF8.self) == #"{"status":"ok"}"#)
            }
            for protocols in [["http/1.1"], []] {
                try await RawConnection.open(address, protocols: protocols) { connection in
                    await connection.send(Self.http1)
                    #expect(await connection.text().hasPrefix("HTTP/1.1 200 "))
                }
            }
            let old: @Sendable (inout TLSConfiguration) -> Void = {
                $0.minimumTLSVersion = .tlsv1
                $0.maximumTLSVersion = .tlsv11
            }
            try? await RawConnection.open(address, protocols: ["h2"], tls: old) { connection in
                await connection.send(Self.http1)
                #expect(await connection.read().isEmpty)
            }
            // A connection without TLS gets no answer.
            try await RawConnection.open(address) { connection in
                await connection.send(Self.http1)
                #expect(await !connection.text().contains("HTTP/1.1"))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a new pair is what new connections see, and a bad one changes nothing`() async throws {
        let (old, new, folder) = (try TestAuthority(), try TestAuthority(), try CertificateFolder())
        try folder.write(old.makeIdentity())
        let certificates = try Certificates(folder.files)
        try await withListeningServer(certificates: certificates) { _, address in
            #expect(try await isServed(address, trusting: old))
            #expect(try await !isServed(address, trusting: new))
            #expect(try certificates.reload() == false)

            let (first, second) = (try new.makeIdentity(), try new.makeIdentity())
            try folder.write((first.certificate, second.key))
            #expect(
                throws: CertificateProblem.keyDoesNotFit(
                    certificate: folder.files.certificate, key: folder.files.key)
            ) { try certificates.reload() }
            #expect(try await isServed(address, trusting: old))

            try folder.write(first)
            #expect(try certificates.reload())
            #expect(try await isServed(address, trusting: new))
            #expect(try await !isServed(address, trusting: old))
        }
    }

    @Test func `what is wrong with a pair is said with the file`() throws {
        let folder = try CertificateFolder()
        let files = folder.files
        func expect(_ problem: CertificateProblem) { #expect(throws: problem) { _ = try Certificates(files) } }
        expect(.unreadable(files.certificate))
        let identity = try TestAuthority().makeIdentity()
        try folder.write(identity.certificate, to: files.certificate)
        expect(.unreadable(files.key))
        for text in ["", "no key", identity.certificate, String(identity.key.dropLast(60))] {
            try folder.write(text, to: files.key)
            expect(.noKey(files.key))
        }
        try folder.write(TestAuthority().makeIdentity().key, to: files.key)
        expect(.keyDoesNotFit(certificate: files.certificate, key: files.key))
        try folder.write(identity.key, to: files.key)
        _ = try Certificates(files)
        for text in ["", "no certificate", identity.key] {
            try folder.write(text, to: files.certificate)
            expect(.noCertificate(files.certificate))
        }
    }

    @Test(.timeLimit(.minutes(2))) func `files that change are seen by themselves, within ten seconds`() async throws {
        let folder = try CertificateFolder()
        try folder.write(TestAuthority().makeIdentity())
        let certificates = try Certificates(folder.files)
        let clock = SteppedClock()
        let lines = LoggedLines()
        let watch = CertificateWatch(
            certificates, time: clock.timeSource, clock: clock,
            logger: Logger(label: "test", factory: { _ in LineHandler(lines: lines) }))
        let group = ServiceGroup(configuration: .init(services: [watch], logger: quiet))
        func pass() async {
            while clock.nextWake == nil { await Task.yield() }
            let wake = clock.nextWake
            clock.advance(by: CertificateWatch.interval)
            while clock.nextWake == nil || clock.nextWake == wake { await Task.yield() }
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            await pass()
            #expect(!lines.all.contains { $0.contains("new certificate") })
            try folder.write("broken", to: folder.files.key)
            await pass()
            #expect(lines.all.filter { $0.hasPrefix("error") && $0.contains("the old one stays") }.count == 1)
            try folder.write(TestAuthority().makeIdentity())
            await pass()
            #expect(lines.all.filter { $0.hasPrefix("notice") && $0.contains("new certificate") }.count == 1)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}
