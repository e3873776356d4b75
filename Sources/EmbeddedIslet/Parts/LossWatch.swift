import ServiceLifecycle
import StorageSQL

/// A service that fails when the database can no longer be written. A server that can write nothing should end,
/// so that whoever started it can start it again.
struct LossWatch: Service {
    let losses: AsyncStream<DatabaseLoss>

    func run() async throws {
        for await loss in losses.cancelOnGracefulShutdown() {
            switch loss {
            case .takenOver:
                throw IsletServer.Failure(
                    "another process has taken the database over: run one, or several with `nodes`")
            case .changesLost:
                throw IsletServer.Failure(
                    "the database lacks changes that were answered: a failover or a restore has lost them. When the "
                        + "server starts again, it counts the database as restored")
            }
        }
    }
}
