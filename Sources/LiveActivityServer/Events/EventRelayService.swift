import LiveActivityCore
import LiveActivityStorage
import Logging
import ServiceLifecycle

/// A service that passes events to their readers as they are written. It reads each event once for all readers.
///
/// It must stop before the server, because the server waits for its streams to end.
package struct EventRelayService: Service {
    /// Pause after a failure of the store.
    private static let storagePause = Duration.seconds(1)
    private static let page = 1000

    let readers: EventReaders
    let store: any EventStore
    let interval: Duration
    let clock: any Clock<Duration>
    let logger: Logger

    package func run() async throws {
        readers.open()
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await beat() }
                await cancelWhenGracefulShutdown { await relay() }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            readers.close()
        }
        readers.close()
    }

    private func beat() async {
        while !Task.isCancelled {
            try? await clock.sleep(for: interval)
            readers.beat()
        }
    }

    private func relay() async {
        let wakeUps = store.eventWakeUps()
        while !Task.isCancelled {
            do throws(StorageError) {
                // A reader that needs earlier events reads them itself.
                let newest = try await store.eventSpan().newest
                readers.offer([], after: newest, through: newest)
                break
            } catch {
                await pause(error)
            }
        }
        for await _ in wakeUps {
            while !Task.isCancelled {
                do throws(StorageError) {
                    let before = readers.through
                    let page = try await store.events(of: nil, EventFilter(), after: before, limit: Self.page)
                    readers.offer(
                        page.events, after: max(before, page.span.wholeFrom), through: page.through)
                    if page.through >= page.span.newest { break }
                } catch {
                    await pause(error)
                }
            }
        }
    }

    private func pause(_ error: StorageError) async {
        guard !Task.isCancelled else { return }
        logger.error("events could not be read", metadata: ["error": "\(error)"])
        try? await clock.sleep(for: Self.storagePause)
    }
}
