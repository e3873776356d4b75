import APNSModel

/// APNs client of a process, true to the port's contract.
///
/// Each push leaves before its deadline or not at all. It is answered exactly once, by its time limit at the latest.
struct NodeSender: PushSender {
    let node: Node

    func submit(
        _ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void
    ) {
        guard node.isAlive else { return }
        for (index, push) in pushes.enumerated() {
            node.world.send(push, from: node) { completion(index, $0) }
        }
    }

    func send(_ push: Push) async throws(PushFailure) -> PushAnswer {
        let result: Result<PushAnswer, PushFailure> = await withCheckedContinuation { continuation in
            submit([push]) { _, result in continuation.resume(returning: result) }
        }
        return try result.get()
    }
}
