import APNSModel
import Crypto
import LiveActivityStorage
import Synchronization

/// The keys that a store works with, by the numbers that rows name them by.
///
/// A row of a key that is not known yet, which another process put in use, has the ring read again: it is on disk, with
/// the key in it, before any row is sealed under that key.
final class TokenSealer: Sendable {
    /// The keys of a database by their numbers.
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

    /// - Parameter needed: The keys that the database holds rows of.
    /// - Returns: Also whether the ring was made.
    static func open(
        _ source: TokenKeySource, needed: [TokenKeyEntry]
    ) throws(TokenKeyProblem) -> (sealer: TokenSealer, isMade: Bool) {
        var isMade = false
        let state: State
        switch source {
        case .given(let ring, _): state = State(ring: ring)
        case .file(let path, let mayBeMade):
            // Never a new ring over a database that has one.
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

    /// Knows these keys too.
    ///
    /// - Throws: When the ring lacks one even after it was read again.
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

    /// Reads the ring again.
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
