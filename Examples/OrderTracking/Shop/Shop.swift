public import BackendCalls
import JSONText

/// A shop's backend. All it knows of Live Activities is one HTTP call per change of an order.
public struct Shop: Sendable {
    private let islet: IsletAPI

    /// - Parameters:
    ///   - islet: The server's address, such as `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = IsletAPI(islet: islet, key: key)
    }

    /// An order in the shop's own database.
    public struct Order: Sendable, Hashable {
        /// The order's number. The activity's id at the server is `order-` and this.
        public var id: String
        /// The restaurant, as the card shows it.
        public var restaurant: String
        /// The people who see the order: who ordered, and whoever eats with them.
        public var people: [String]

        /// Creates an order. `people` are ids of the shop's own users. Only the server knows which phones they have.
        public init(id: String, restaurant: String, people: [String]) {
            self.id = id
            self.restaurant = restaurant
            self.people = people
        }
    }

    /// Reports the status of an order: "order 12345 is delivering, eta 5".
    ///
    /// `delivered` ends the activity. Its last state stays on the lock screen for 15 minutes.
    public func report(_ order: Order, _ status: OrderStatus, eta: Int? = nil) async throws -> IsletAPI.Answer {
        let state = try JSONValue(
            encoding: OrderTrackingAttributes.ContentState(status: status, progress: status.progress, eta: eta))
        guard status != .delivered else {
            return try await islet.call(
                .POST, path(of: order) + "/end",
                ["state": state, "dismissAfter": "15m", "alert": ["title": "Enjoy your meal!", "sound": "default"]])
        }
        var body: JSONObject = [
            "type": "OrderTracking", "state": state,
            "attributes": ["orderId": .string("order-\(order.id)"), "restaurant": .string(order.restaurant)],
            "audience": ["users": .array(order.people.map(JSONValue.string))],
            "priority": status.isUrgent ? "high" : "low",
        ]
        if status.isUrgent {
            body["alert"] = [
                "title": "Your order is on its way",
                "body": .string(eta.map { "\(order.restaurant): \($0) minutes" } ?? order.restaurant),
                "sound": "default",
            ]
        }
        return try await islet.call(.PUT, path(of: order), .object(body))
    }

    /// Returns what the server knows of an order: on which phones it is, and why it is not on the others.
    public func look(at order: Order) async throws -> IsletAPI.Answer {
        try await islet.call(.GET, path(of: order))
    }

    private func path(of order: Order) -> String { "/v1/activities/" + IsletAPI.segment("order-\(order.id)") }
}
