package import AsyncHTTPClient
import Hummingbird
import Synchronization

/// The owner of the database as its other nodes see it, with the client that reaches it.
package struct NodePeer: Sendable {
    /// Number that the node has chosen for its life.
    package let number: Int64
    /// URL of the listener for other nodes.
    package let address: String
    /// Text that shows that a call comes from a node.
    let secret: String
    package let client: HTTPClient

    package init(number: Int64, address: String, secret: String, client: HTTPClient) {
        self.number = number
        self.address = address
        self.secret = secret
        self.client = client
    }
}

/// The desk where the listeners learn who answers a request: this process, if it owns the database, else the owner.
///
/// The listeners stay when the answers change, so that no connection is lost: with another owner, and with a changed
/// configuration.
package final class NodeDesk: Sendable {
    /// Returns the answer to a request from an address, as `AddressRoom` names it.
    typealias Local = @Sendable (Request, String) async throws -> Response

    /// The answers of this process while it owns the database, by one configuration.
    final class Seat: Sendable {
        let api: Local
        let watchers: Local

        init(api: @escaping Local, watchers: @escaping Local) {
            self.api = api
            self.watchers = watchers
        }
    }

    enum Answerer: Sendable {
        /// This process. The request counts as open while the place is held.
        case here(Seat, Place)
        case peer(NodePeer)
    }

    /// The place of a request that this process answers.
    final class Place: Sendable {
        private let desk: NodeDesk

        fileprivate init(_ desk: NodeDesk) {
            self.desk = desk
        }

        deinit { desk.leave() }
    }

    private struct State {
        var seat: Seat?
        var peer: NodePeer?
        var open = 0
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextListener = 0
    }

    private let state = Mutex(State())
    private let made = Atomic(0)
    /// Wakes whoever looks for the owner.
    private let look: @Sendable () -> Void

    /// - Parameter look: Called when the known owner does not answer.
    package init(look: @escaping @Sendable () -> Void) {
        self.look = look
    }

    /// The owner, if it is another process that is known.
    package var peer: NodePeer? { state.withLock(\.peer) }

    // MARK: - The owner changes

    /// This process answers from now on, with these answers. Requests that were begun keep the answers they had.
    func open(_ seat: Seat) { change { $0.seat = seat } }

    /// This process no longer answers new requests, because another owns the database by now.
    package func vacate() { change { $0.seat = nil } }

    /// This process no longer answers new requests with these answers. Returns when those that it answers have ended,
    /// and at once if others have replaced these answers.
    func close(_ seat: Seat) async {
        let changes = changes()
        var isReplaced = false
        change { state in
            isReplaced = state.seat.map { $0 !== seat } ?? false
            if !isReplaced { state.seat = nil }
        }
        if isReplaced { return }
        guard state.withLock({ $0.open > 0 }) else { return }
        for await _ in changes where state.withLock({ $0.open == 0 }) { return }
    }

    /// Requests go to this owner from now on; `nil`: none is known.
    ///
    /// - Returns: The owner before, whose client the caller shuts down.
    package func follow(_ peer: NodePeer?) -> NodePeer? {
        var old: NodePeer?
        change { state in
            old = state.peer
            state.peer = peer
        }
        return old
    }

    /// Notes that the known owner does not answer.
    func missOwner() { look() }

    private func change(_ body: (inout State) -> Void) {
        let listeners = state.withLock { state in
            body(&state)
            return state.listeners.values
        }
        for listener in listeners { listener.yield() }
    }

    private func leave() {
        let listeners = state.withLock { state in
            state.open -= 1
            return state.open == 0 ? Array(state.listeners.values) : []
        }
        for listener in listeners { listener.yield() }
    }

    /// Returns a stream with an element whenever the answerer changes, and when the last open request ends.
    private func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            defer { state.nextListener += 1 }
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    // MARK: - Requests

    /// Number of calls of the API that callers have made to this process.
    package var calls: Int { made.load(ordering: .relaxed) }

    /// Counts a call of a caller.
    func countCall() { made.add(1, ordering: .relaxed) }

    /// Takes a place in this process; `nil` if it does not own the database.
    func here() -> (Seat, Place)? {
        state.withLock { state in
            guard let seat = state.seat else { return nil }
            state.open += 1
            return (seat, Place(self))
        }
    }

    /// Returns who answers, and waits while nobody does; `nil` if the task is cancelled meanwhile.
    func answerer() async -> Answerer? {
        let changes = changes()
        if let current { return current }
        for await _ in changes {
            if let current { return current }
        }
        return nil
    }

    /// Who answers now.
    var current: Answerer? {
        if let (seat, place) = here() { return .here(seat, place) }
        return peer.map(Answerer.peer)
    }
}
