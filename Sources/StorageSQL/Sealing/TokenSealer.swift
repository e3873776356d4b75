import APNSModel
import Crypto
import LiveActivityStorage
import Synchronization

/// The keys of a store, by the numbers that rows contain.
///
/// A row may have an unknown key that another process has put in use. The ring is then read again. The key is in the
/// ring on disk before any row is sealed under it.
final class TokenSealer: Sendable {
    /// The keys of a database, by number.
    struct Keys: Sendable {
        var sealing: [Int64: SymmetricKey] = [:]
        var lookUp: [Int64: SymmetricKey] = [:]

        func has(_ entry: TokenKeyEntry) -> Bool {
            entry.use == .sealing ? sealing[entry.number] != nil : lookUp[entry.number] != nil
        }
    }

    private struct State {
        var ring: TokenKeyRing
        var stamp: TokenKeyFile.Stamp?
        var keys = Keys()
    }

    let source: TokenKeySource
    private let state: Mutex<State>

    /// Opens the ring, and creates it if allowed.
    ///
    /// - Parameter needed: The keys that rows of the database may need.
    /// - Returns: The sealer, and `true` if the ring was created.
    static func open(
        _ source: TokenKeySource, needed: [TokenKeyEntry]
    ) throws(TokenKeyProblem) -> (sealer: TokenSealer, isMade: Bool) {
        var isMade = false
        let state: State
        switch source {
        case .given(let ring, _): state = State(ring: ring)
        case .file(let path, let mayBeMade):
            // Never create a new ring for a database that has one.
            if needed.isEmpty, mayBeMade, try TokenKeyFile.read(path) == nil {
                isMade = try TokenKeyFile.make(.fresh(), at: path)
            }
            guard let (ring, stamp) = try TokenKeyFile.read(path) else {
                guard needed.isEmpty else { throw .missingRing(place: path, keys: needed.map(\.id)) }
                throw .unreadable(
                    place: path, detail: "there is no such file; make one: `umask 077; islet keys new-ring > \(path)`")
            }
            state = State(ring: ring, stamp: stamp)
        }
        let sealer = TokenSealer(source, state)
        _ = try sealer.learn(needed)
        return (sealer, isMade)
    }

    private init(_ source: TokenKeySource, _ state: State) {
        self.source = source
        self.state = Mutex(state)
    }

    var keys: Keys { state.withLock(\.keys) }
    var ring: TokenKeyRing { state.withLock(\.ring) }

    /// Loads these keys as well.
    ///
    /// - Throws: `TokenKeyProblem` if the ring lacks a key even after it was read again.
    func learn(_ entries: [TokenKeyEntry]) throws(TokenKeyProblem) -> Keys {
        let (source, place) = (self.source, self.source.place)
        return try state.withLock { state throws(TokenKeyProblem) in
            let new = entries.filter { !state.keys.has($0) }
            guard !new.isEmpty else { return state.keys }
            if new.contains(where: { state.ring[$0.id, $0.use]?.proof != $0.proof }) { try Self.reload(&state, source) }
            try TokenKeyRegister.check(new, state.ring, place: place)
            for entry in new {
                guard let key = state.ring[entry.id, entry.use]?.working else { continue }
                switch entry.use {
                case .sealing: state.keys.sealing[entry.number] = key
                case .lookUp: state.keys.lookUp[entry.number] = key
                }
            }
            return state.keys
        }
    }

    /// Reads the ring again if its file has changed.
    @discardableResult func reload() throws(TokenKeyProblem) -> TokenKeyRing {
        let source = self.source
        return try state.withLock { state throws(TokenKeyProblem) in
            try Self.reload(&state, source)
            return state.ring
        }
    }

    private static func reload(_ state: inout State, _ source: TokenKeySource) throws(TokenKeyProblem) {
        guard case .file(let path, _) = source, let stamp = TokenKeyFile.stamp(of: path), stamp != state.stamp,
            let (ring, read) = try TokenKeyFile.read(path)
        else { return }
        state.ring = ring
        state.stamp = read
    }
}
