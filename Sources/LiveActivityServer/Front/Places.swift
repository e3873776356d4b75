import Synchronization

/// A limited number of places, of which each owner may have a share.
final class Places: Sendable {
    private struct State {
        var taken = 0
        var shares: [String: Int] = [:]
    }

    let maximum: Int
    private let state = Mutex(State())

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// Takes a place, held until it is released. Returns `nil` if no place is free.
    func take() -> Place? {
        state.withLock { state in
            guard state.taken < maximum else { return nil }
            state.taken += 1
            return Place(of: nil, in: self)
        }
    }

    /// Takes a place for an owner, who may have at most `share` places. Returns `nil` if no place is free.
    func take(of owner: String, upTo share: Int) -> Place? {
        state.withLock { state in
            let own = state.shares[owner, default: 0]
            guard state.taken < maximum, own < share else { return nil }
            state.taken += 1
            state.shares[owner] = own + 1
            return Place(of: owner, in: self)
        }
    }

    final class Place: Sendable {
        private let owner: String?
        private let places: Places

        fileprivate init(of owner: String?, in places: Places) {
            self.owner = owner
            self.places = places
        }

        deinit {
            places.state.withLock { state in
                state.taken -= 1
                guard let owner, let own = state.shares[owner] else { return }
                state.shares[owner] = own > 1 ? own - 1 : nil
            }
        }
    }
}
