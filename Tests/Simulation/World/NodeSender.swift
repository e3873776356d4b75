import APNSModel

/// A process's client of APNs, as its port promises it: each push leaves before its time or not at all, and is answered
/// once, by its time at the latest.
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
