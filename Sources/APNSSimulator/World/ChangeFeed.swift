internal import Synchronization

/// A change in a simulator.
public enum SimulatorChange: Sendable, Hashable {
    /// The lock screen, the settings or the device log of a phone changed.
    case phone(PhoneID)
    /// A push was received.
    case push
}

/// Publishes changes to all listeners. A slow listener may miss changes, but never the latest.
final class ChangeFeed: Sendable {
    private struct Listener {
        let phone: PhoneID?
        let continuation: AsyncStream<SimulatorChange>.Continuation
    }

    private struct State {
        var next = 0
        var isFinished = false
        var everything: [Int: Listener] = [:]
        var onePhone: [PhoneID: [Int: Listener]] = [:]
    }

    private let state = Mutex(State())

    /// Returns the changes from now on, of one phone or of everything, until the simulator stops or the reader leaves.
    func changes(of phone: PhoneID?, keeping count: Int) -> AsyncStream<SimulatorChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SimulatorChange.self, bufferingPolicy: .bufferingNewest(count))
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            let listener = Listener(phone: phone, continuation: continuation)
            if let phone {
                state.onePhone[phone, default: [:]][state.next] = listener
            } else {
                state.everything[state.next] = listener
            }
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number, phone) }
        return stream
    }

    func publish(_ change: SimulatorChange) {
        let listeners: [Listener] = state.withLock { state in
            var listeners = Array(state.everything.values)
            if case .phone(let phone) = change, let more = state.onePhone[phone] { listeners += more.values }
            return listeners
        }
        for listener in listeners { listener.continuation.yield(change) }
    }

    func finish() {
        let listeners: [Listener] = state.withLock { state in
            let listeners = Array(state.everything.values) + state.onePhone.values.flatMap(\.values)
            state = State(isFinished: true)
            return listeners
        }
        for listener in listeners { listener.continuation.finish() }
    }

    private func remove(_ number: Int, _ phone: PhoneID?) {
        state.withLock { state in
            if let phone {
                state.onePhone[phone]?[number] = nil
                if state.onePhone[phone]?.isEmpty == true { state.onePhone[phone] = nil }
            } else {
                state.everything[number] = nil
            }
        }
    }
}
