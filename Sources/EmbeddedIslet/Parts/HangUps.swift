import LiveActivityServer
import Logging
import ServiceLifecycle
package import UnixSignals

/// Source of a server's changed configuration.
package struct Reload: Sendable {
    /// SIGHUP, trapped before the configuration was read for the first time: a signal that comes while the database is
    /// opened is kept.
    package var hangUps: UnixSignalsSequence
    /// Changes the parts that may change while a server runs, and returns the keys that were changed and need a
    /// restart. Throws an error that says what is wrong with the configuration.
    package var load: @Sendable (inout ServerParts) throws -> [String]

    package init(
        hangUps: UnixSignalsSequence, load: @escaping @Sendable (inout ServerParts) throws -> [String]
    ) {
        self.hangUps = hangUps
        self.load = load
    }
}

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
        let hangUps: UnixSignalsSequence
        if let reload { hangUps = reload.hangUps } else { hangUps = await UnixSignalsSequence(trapping: .sighup) }
        for await _ in hangUps.cancelOnGracefulShutdown() {
            watch?.look()
            guard let reload else { continue }
            var changed = parts()
            do {
                let pending = try reload.load(&changed)
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
