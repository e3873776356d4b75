import LiveActivityCore
package import LiveActivityStorage
package import Logging
package import ServiceLifecycle
import Synchronization

/// State that outlives a server's configuration: open streams, sessions of the console, uses of keys, alerts, and
/// fetched key sets.
///
/// A server with a changed configuration goes on with the memory of the one before.
package final class ServerMemory: Sendable {
    let readers: EventReaders
    let console = ConsoleDesk()
    let keyUses = KeyUses()
    let figures = Figures()
    let alerts = AlertBoard()
    private let keySets = Mutex<[String: KeySet]>([:])

    package init(_ limits: LiveActivityServer.Limits) {
        var room = EventRelay.Limits()
        room.readers = limits.eventStreams
        room.readersOfApp = limits.eventStreamsOfApp
        room.buffered = limits.unreadEvents
        readers = EventReaders(room)
    }

    /// Returns the relay that passes events to their readers. One must run, and stop before the server.
    package func relay(
        _ store: any EventStore, _ limits: LiveActivityServer.Limits, _ logger: Logger
    ) -> EventRelayService {
        EventRelayService(
            readers: readers, store: store, interval: limits.eventBeat, clock: ContinuousClock(), logger: logger)
    }

    /// The end of the console's live pages. Must run, and stop before the listeners, which wait for open answers.
    package var livePages: any Service { LivePages(figures: figures) }

    private struct LivePages: Service {
        let figures: Figures

        func run() async throws {
            try? await gracefulShutdown()
            figures.end()
        }
    }

    /// Gives key sets the keys that the sets before them have fetched.
    func goOn(with sets: [KeySet]) {
        keySets.withLock { known in
            for set in sets {
                if let before = known[set.source] { set.goOn(from: before) }
                known[set.source] = set
            }
        }
    }
}
