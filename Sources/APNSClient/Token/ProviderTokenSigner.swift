import APNSModel
import Synchronization

/// Signs the provider tokens of one key, each slot once, for all connections that use it.
final class ProviderTokenSigner: Sendable {
    private struct State {
        var newest: ProviderToken?
        var clockOffset = Duration.zero
    }

    private let key: ProviderKey
    private let state = Mutex(State())

    init(_ key: ProviderKey) {
        self.key = key
    }

    /// What is added to the wall clock before a slot is chosen: zero unless APNs called a fresh token expired and its
    /// `date` header showed that our clock is wrong.
    var clockOffset: Duration {
        get { state.withLock { $0.clockOffset } }
        set { state.withLock { $0.clockOffset = newValue } }
    }

    /// The token of a slot.
    func token(issuedAt: UnixTime) throws(ProviderKeyError) -> ProviderToken {
        if let known = state.withLock({ $0.newest }), known.issuedAt == issuedAt { return known }
        let token = try key.makeToken(issuedAt: issuedAt)
        state.withLock { $0.newest = token }
        return token
    }
}
