import LiveActivityCore
package import LiveActivityStorage
package import Logging

/// State that outlives a server's configuration: open event streams, sessions of the console, uses of keys.
///
/// A server with a changed configuration goes on with the memory of the one before.
package final class ServerMemory: Sendable {
    let readers: EventReaders
    let console = ConsoleDesk()
    let keyUses = KeyUses()

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
}
