import LiveActivityServer
import Logging
import ServiceLifecycle
import UnixSignals

/// Source of a server's changed configuration.
///
/// Changes the parts that may change while a server runs, and returns the keys that were changed and need a restart.
/// Throws an error that says what is wrong with the configuration.
package typealias Reload = @Sendable (inout ServerParts) throws -> [String]

/// A service that reads the certificate files and the configuration again when the process receives SIGHUP.
struct HangUps: Service {
    let watch: CertificateWatch?
    let logger: Logger
    let reload: Reload?
    /// The configuration in force.
    let parts: @Sendable () -> ServerParts
    /// Puts a configuration in force.
    let change: @Sendable (ServerParts) async throws -> Void
    /// Notes whether the last configuration was refused.
    let note: @Sendable (_ isRefused: Bool) -> Void

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            watch?.look()
            guard let reload else { continue }
            var changed = parts()
            do {
                let pending = try reload(&changed)
                // A server that stops does not wait for pushes of the configuration before.
                try await cancelWhenGracefulShutdown { [changed] in try await change(changed) }
                note(false)
                logger.notice("the configuration was reloaded", metadata: ["apps": "\(changed.apps.count)"])
                if !pending.isEmpty {
                    logger.warning(
                        "some changed keys of the configuration need a restart; their old values stay",
                        metadata: ["keys": "\(pending.joined(separator: ", "))"])
                }
            } catch {
                note(true)
                logger.error(
                    "the configuration was not reloaded; the old one goes on", metadata: ["error": "\(error)"])
            }
        }
    }
}
