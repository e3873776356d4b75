import APNSModel
import Synchronization

/// Signs the provider tokens of one key, once per slot, for all connections that use it.
///
/// The signer also keeps the token before the newest. A connection that returns to it must send the same token, and
/// every signature is different.
final class ProviderTokenSigner: Sendable {
    private struct State {
        /// At most two tokens, newest last.
        var known: [ProviderToken] = []
        var clockOffset = Duration.zero
    }

    private let key: ProviderKey
    private let state = Mutex(State())

    init(_ key: ProviderKey) {
        self.key = key
    }

    /// Correction of the wall clock before a slot is chosen.
    ///
    /// It is zero unless APNs refused a fresh token and its `date` header showed that the local clock is wrong.
    var clockOffset: Duration {
        get { state.withLock { $0.clockOffset } }
        set { state.withLock { $0.clockOffset = newValue } }
    }

    /// Returns the token of a slot.
    func token(issuedAt: UnixTime) throws(ProviderKeyError) -> ProviderToken {
        if let known = state.withLock({ $0.known.first { $0.issuedAt == issuedAt } }) { return known }
        let token = try key.makeToken(issuedAt: issuedAt)
        return state.withLock { state in
            // Another connection may have signed it meanwhile.
            if let known = state.known.first(where: { $0.issuedAt == issuedAt }) { return known }
            state.known = state.known.suffix(1) + [token]
            return token
        }
    }
}
