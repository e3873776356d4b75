import APNSModel
import Synchronization

/// Signs the provider tokens of one key, each slot once, for all connections that use it.
///
/// The token before the newest is kept, too: a connection that has to go back to it has to go back to the same one, and
/// no two signatures are alike.
final class ProviderTokenSigner: Sendable {
    private struct State {
        /// The newest last.
        var known: [ProviderToken] = []
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
        if let known = state.withLock({ $0.known.first { $0.issuedAt == issuedAt } }) { return known }
        let token = try key.makeToken(issuedAt: issuedAt)
        return state.withLock { state in
            // Another connection may have been faster.
            if let known = state.known.first(where: { $0.issuedAt == issuedAt }) { return known }
            state.known = state.known.suffix(1) + [token]
            return token
        }
    }
}
