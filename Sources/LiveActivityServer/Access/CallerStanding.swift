import APNSModel
import LiveActivityCore
import LiveActivityStorage

/// The standing of a stream's opener, which is checked again because a stream may last for hours.
struct CallerStanding {
    /// Time after which a stream notices that its key was revoked.
    static let interval = Duration.seconds(1)

    private let responder: Responder
    private let caller: Caller
    private var checkedAt: MonotonicTime

    init(_ caller: Caller, _ responder: Responder) {
        self.caller = caller
        self.responder = responder
        checkedAt = responder.services.time.monotonic()
    }

    /// Checks the key again, at most once a second.
    ///
    /// - Throws: The refusal that a separate call would get, or `storage_unavailable` if the key cannot be read.
    mutating func check() async throws(Problem) {
        let now = responder.services.time.monotonic()
        guard now - checkedAt >= Self.interval else { return }
        switch caller {
        case .key(let key): try await responder.check(key.id)
        // People and phones cannot open these streams.
        case .person, .phone: break
        }
        checkedAt = now
    }
}
