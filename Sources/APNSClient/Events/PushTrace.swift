import APNSModel
import Synchronization

/// Reports the events of one push to the observer. Exists only if the client has an observer.
final class PushTrace: Sendable {
    private let observer: any APNSClientObserver
    private let time: TimeSource
    private let info: APNSClient.PushInfo
    private let submittedAt: MonotonicTime
    /// Monotonic time of the last send, in nanoseconds.
    private let sentAt: Atomic<Int64>

    init(_ request: PushRequest, _ observer: any APNSClientObserver, _ time: TimeSource) {
        self.observer = observer
        self.time = time
        info = APNSClient.PushInfo(request)
        submittedAt = time.monotonic()
        sentAt = Atomic(submittedAt.nanoseconds)
    }

    func sent(at instant: MonotonicTime) {
        // The connection may have read the clock shortly before the push was submitted.
        let now = max(instant, submittedAt)
        sentAt.store(now.nanoseconds, ordering: .relaxed)
        observer.pushSent(info, after: now - submittedAt)
    }

    func completed(_ result: Result<PushAnswer, PushFailure>) {
        let now = time.monotonic()
        switch result {
        case .success(let answer):
            let left = MonotonicTime(nanoseconds: sentAt.load(ordering: .relaxed))
            observer.pushAnswered(info, answer: answer, after: now - left)
        case .failure(let failure): observer.pushFailed(info, failure: failure, after: now - submittedAt)
        }
    }
}
