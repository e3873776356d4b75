import LiveActivityServer
import ServiceLifecycle
import UnixSignals

/// A service that checks the certificate files at once when the process receives SIGHUP.
struct HangUps: Service {
    let watch: CertificateWatch

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { watch.look() }
    }
}
