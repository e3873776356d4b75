public import BackendCalls
import JSONText

/// A shop's backend: all it knows of Live Activities is one HTTP call per change of an order.
public struct Shop: Sendable {
    private let islet: IsletAPI

    /// - Parameters:
    ///   - islet: Where the server is: `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = IsletAPI(islet: islet, key: key)
    }

    /// An order as the shop's own database has it.
    public struct Order: Sendable, Hashable {
        /// The order's number: the activity's id at the server is `order-` and this.
        public var id: String
        /// Where the food comes from, as the card shows it.
        public var restaurant: String
        /// Who ordered, and whoever eats with them: their phones show the order.
        public var people: [String]

        /// `people` are ids of the shop's own users: which phones they have, only the server knows.
        public init(id: String, restaurant: String, people: [String]) {
            self.id = id
            self.restaurant = restaurant
            self.people = people
        }
    }

    /// Tells the world where an order is: "order 12345 is delivering, eta 5".
    ///
    /// Delivered ends the activity; its last state stays on the lock screen for a quarter of an hour.
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

    /// What the server knows of an order: on which phones it is, and why it is not on the others.
    public func look(at order: Order) async throws -> IsletAPI.Answer {
        try await islet.call(.GET, path(of: order))
    }

    private func path(of order: Order) -> String { "/v1/activities/" + IsletAPI.segment("order-\(order.id)") }
}
