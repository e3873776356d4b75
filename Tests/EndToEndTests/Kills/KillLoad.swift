import JSONText
import LiveActivityAPI
import Synchronization
import Testing

@testable import islet

/// Backends that change their orders without a pause, one writer for each order, and repeat calls without an answer.
///
/// Each write carries a new state and an idempotency key of its own. However often it was repeated and whenever the
/// server died, it must have taken effect once: the answer to the n-th write of an order is revision n.
final class KillLoad: Sendable {
    struct Order: Sendable {
        let id: String
        let people: [String]

        /// Returns the body of the n-th write. The last write ends the run.
        fileprivate func body(_ number: Int, isLast: Bool) -> JSONValue {
            let status = isLast ? "delivering" : ["preparing", "ready", "picked_up"][number % 3]
            var body: JSONObject = [
                "type": "OrderTracking",
                "state": ["status": .string(status), "progress": KillLoad.progress(number)],
                "attributes": ["orderId": .string(id), "restaurant": "Da Mario"],
                "audience": ["users": .array(people.map(JSONValue.string))],
            ]
            if number % KillLoad.alertEvery == 0 {
                body["alert"] = ["id": .string("alert-\(number)"), "title": "Your order", "body": .string(status)]
            }
            return .object(body)
        }
    }

    /// Interval, in writes of an order, at which a write has an alert.
    static let alertEvery = 10

    private struct State {
        /// Number of answered writes, by order.
        var answered: [String: Int] = [:]
        var total = 0
        /// Number of calls that met no server, or one that died before it answered.
        var unanswered = 0
        /// Orders that get their last state now.
        var finished: Set<String> = []
        var isOver = false
    }

    private let caller: @Sendable () -> JSONCaller
    private let state = Mutex(State())

    /// - Parameter caller: Returns the caller of a server, for each write anew.
    init(_ caller: @escaping @Sendable () -> JSONCaller) {
        self.caller = caller
    }

    /// Returns a progress that differs for each write. The type's contract allows at most 1, which an order reaches
    /// after a million writes.
    static func progress(_ number: Int) -> JSONValue {
        .number(JSONNumber(Double(number) / 1_000_000) ?? JSONNumber(0))
    }

    /// Number of answered writes of all orders.
    var total: Int { state.withLock { $0.total } }
    var unanswered: Int { state.withLock { $0.unanswered } }
    func answered(_ order: Order) -> Int { state.withLock { $0.answered[order.id] ?? 0 } }

    /// Changes an order until `finish()`, then once more.
    func drive(_ order: Order) async throws {
        while true {
            let isLast = state.withLock { $0.isOver || $0.finished.contains(order.id) }
            try await write(order, isLast: isLast)
            if isLast { return }
        }
    }

    /// Gives each order its last state.
    func finish() { state.withLock { $0.isOver = true } }

    func finish(_ order: String) { state.withLock { _ = $0.finished.insert(order) } }

    private func write(_ order: Order, isLast: Bool) async throws {
        let number = answered(order) + 1
        let body = order.body(number, isLast: isLast)
        try await Waiting.until("write \(number) of \(order.id) is answered", within: .seconds(120)) {
            do {
                let answer = try await self.caller().call(
                    .PUT, "/v1/activities/\(order.id)", body, idempotencyKey: "\(order.id)/\(number)"
                ).decode(ActivityAnswer.self)
                #expect(answer.revision == number, "\(order.id): each write takes effect once")
                self.state.withLock {
                    $0.answered[order.id] = number
                    $0.total += 1
                }
                return true
            } catch let refusal as JSONCaller.Refusal where refusal.status != 503 {
                throw refusal
            } catch {
                // No server was reachable, or it died before it answered. Send the same call again.
                self.state.withLock { $0.unanswered += 1 }
                return false
            }
        }
    }
}
