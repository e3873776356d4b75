import APNSModel
import LiveActivityCore
import LiveActivityStorage

/// Whether whoever opened a stream may still make calls: a stream may last for hours, and its key was proven once.
struct CallerStanding {
    /// What is revoked meanwhile is over after this time.
    static let interval = Duration.seconds(1)

    private let responder: Responder
    private let caller: Caller
    private var checkedAt: MonotonicTime

    init(_ caller: Caller, _ responder: Responder) {
        self.caller = caller
        self.responder = responder
        checkedAt = responder.services.time.monotonic()
    }

    /// Looks at the key again, once a second at most.
    ///
    /// - Throws: What a call of its own would be refused with; `storage_unavailable` where the key cannot be read.
    mutating func check() async throws(Problem) {
        let now = responder.services.time.monotonic()
        guard now - checkedAt >= Self.interval else { return }
        switch caller {
        case .key(let key): try await responder.check(key.id)
        // No stream is for them.
        case .person, .phone: break
        }
        checkedAt = now
    }
}
