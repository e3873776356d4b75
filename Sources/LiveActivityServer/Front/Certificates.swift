package import APNSModel
import Crypto
import Foundation
package import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization

/// Where the certificate of the front is.
package struct CertificateFiles: Sendable, Hashable {
    /// The chain, leaf first, as PEM.
    package var certificate: String
    /// The leaf's private key, as PEM.
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// Why a certificate and a key cannot be used, and which file it is about.
package enum CertificateProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case unreadable(String)
    case noCertificate(String)
    case noKey(String)
    case keyDoesNotFit(certificate: String, key: String)

    package var description: String {
        switch self {
        case .unreadable(let path): "\(path) cannot be read"
        case .noCertificate(let path): "\(path) holds no certificate in PEM form (`-----BEGIN CERTIFICATE-----`)"
        case .noKey(let path): "\(path) holds no private key in PEM form without a password"
        case .keyDoesNotFit(let certificate, let key):
            "the key in \(key) is not that of the first certificate in \(certificate)"
        }
    }
}

/// The certificate that new connections are shown; it changes while the server runs.
package final class Certificates: Sendable {
    static let http2 = "h2"
    /// How long a client that is told of the end of a connection has to say that it read so.
    private static let farewell = TimeAmount.seconds(1)

    private struct Loaded {
        let context: NIOSSLContext
        let digest: [UInt8]
        let expiresAt: UnixTime
    }

    private let files: CertificateFiles
    private let loaded: Mutex<Loaded>

    package init(_ files: CertificateFiles) throws(CertificateProblem) {
        self.files = files
        loaded = Mutex(try Self.load(files))
    }

    var context: NIOSSLContext { loaded.withLock(\.context) }
    /// When the first certificate ends.
    package var expiresAt: UnixTime { loaded.withLock(\.expiresAt) }

    /// Reads the files anew. What is wrong with them leaves everything as it is.
    ///
    /// - Returns: Whether they are others than before.
    package func reload() throws(CertificateProblem) -> Bool {
        let new = try Self.load(files)
        return loaded.withLock { loaded in
            guard loaded.digest != new.digest else { return false }
            loaded = new
            return true
        }
    }

    private static func load(_ files: CertificateFiles) throws(CertificateProblem) -> Loaded {
        let chainBytes = try read(files.certificate)
        let keyBytes = try read(files.key)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(chainBytes), let leaf = chain.first else {
            throw .noCertificate(files.certificate)
        }
        guard let key = try? NIOSSLPrivateKey(bytes: keyBytes, format: .pem) else { throw .noKey(files.key) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = [http2, "http/1.1"]
        configuration.shutdownTimeout = farewell
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw .keyDoesNotFit(certificate: files.certificate, key: files.key)
        }
        return Loaded(
            context: context, digest: Array(SHA256.hash(data: chainBytes + keyBytes)),
            expiresAt: UnixTime(seconds: Int64(leaf.notValidAfter)))
    }

    private static func read(_ path: String) throws(CertificateProblem) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { throw .unreadable(path) }
        return Array(data)
    }
}

/// Looks now and then whether the files of a certificate have changed, and takes the new one.
package struct CertificateWatch: Service {
    /// From one look to the next.
    package static let interval = Duration.seconds(10)
    /// A certificate that ends sooner is told of.
    package static let warning = Duration.seconds(7 * 86_400)

    private let certificates: Certificates
    private let time: TimeSource
    private let clock: any Clock<Duration>
    private let logger: Logger

    package init(
        _ certificates: Certificates, time: TimeSource, clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) {
        self.certificates = certificates
        self.time = time
        self.clock = clock
        self.logger = logger
    }

    package func run() async throws {
        warn()
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    try await clock.sleep(for: Self.interval)
                    look()
                }
            }
        } catch is CancellationError {
            return
        }
    }

    /// One look, also because somebody asks for it.
    package func look() {
        do throws(CertificateProblem) {
            guard try certificates.reload() else { return }
            logger.notice(
                "new connections have the new certificate", metadata: ["expires": "\(certificates.expiresAt)"])
            warn()
        } catch {
            logger.error(
                "the certificate was changed and cannot be used; the old one stays", metadata: ["error": "\(error)"])
        }
    }

    private func warn() {
        let (end, now) = (certificates.expiresAt, time.wall())
        guard end < now + Self.warning else { return }
        logger.warning(
            end <= now ? "the certificate has expired" : "the certificate expires soon", metadata: ["expires": "\(end)"]
        )
    }
}
