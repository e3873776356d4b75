package import APNSModel
import Crypto
import Foundation
package import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import Synchronization

/// The files of the server's certificate.
package struct CertificateFiles: Sendable, Hashable {
    /// The certificate chain in PEM form, leaf first.
    package var certificate: String
    /// The leaf's private key in PEM form.
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// A reason why a certificate and its key cannot be used, with the file in question.
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

/// The certificate for new connections. It can change while the server runs.
package final class Certificates: Sendable {
    static let http2 = "h2"
    /// Time in which a client must confirm the end of a TLS connection.
    private static let farewell = TimeAmount.seconds(1)

    private struct Loaded {
        let context: NIOSSLContext
        let digest: [UInt8]
        let expiresAt: UnixTime
    }

    /// The files that the certificate is read from.
    package let files: CertificateFiles
    private let loaded: Mutex<Loaded>

    package init(_ files: CertificateFiles) throws(CertificateProblem) {
        self.files = files
        loaded = Mutex(try Self.load(files))
    }

    var context: NIOSSLContext { loaded.withLock(\.context) }
    /// Expiration of the first certificate in the chain.
    package var expiresAt: UnixTime { loaded.withLock(\.expiresAt) }

    /// Reads the files again. If they cannot be used, the current certificate stays.
    ///
    /// - Returns: `true` if the files have changed.
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

/// Checks the files of a certificate regularly, and loads them when they have changed.
package struct CertificateWatch: Service {
    /// Time between two checks.
    package static let interval = Duration.seconds(10)
    /// Remaining lifetime from which the log warns that the certificate expires.
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

    /// Checks the files once. Can also be called at any other time.
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
