import ServiceLifecycle

/// A service that fails when another process has taken the database over. A server that can write nothing should end,
/// so that whoever started it can start it again.
struct LossWatch: Service {
    let losses: AsyncStream<Void>

    func run() async throws {
        for await _ in losses.cancelOnGracefulShutdown() {
            throw IsletServer.Failure("another process has taken the database over: run one, or several with `nodes`")
        }
    }
}
