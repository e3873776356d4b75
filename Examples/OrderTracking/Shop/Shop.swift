import AsyncHTTPClient
public import JSONText
import NIOCore
import NIOHTTP1

/// A shop's backend: all it knows of Live Activities is one HTTP call per change of an order.
public struct Shop: Sendable {
    private let islet: String
    private let key: String
    private static let timeLimit = TimeAmount.seconds(10)
    private static let maximumAnswerBytes = 1 << 20

    /// - Parameters:
    ///   - islet: Where the server is: `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = islet
        self.key = key
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

    /// What the server answered.
    public struct Answer: Sendable {
        /// The HTTP status: 200 when the server took the call.
        public let status: Int
        /// The server's account of the order, or a problem document (RFC 9457) when it refused.
        public let body: JSONValue

        /// What came of it, in a line.
        public var summary: String {
            let members = body.object ?? [:]
            guard status == 200 else {
                return "\(status) \(members["code"] ?? .null) \(members["detail"] ?? .null)"
            }
            return "revision \(members["revision"] ?? .null), phones \(members["phones"] ?? .null)"
        }
    }

    /// Tells the world where an order is: "order 12345 is delivering, eta 5".
    ///
    /// Delivered ends the activity; its last state stays on the lock screen for a quarter of an hour.
    public func report(_ order: Order, _ status: OrderStatus, eta: Int? = nil) async throws -> Answer {
        let state = try JSONValue(
            encoding: OrderTrackingAttributes.ContentState(status: status, progress: status.progress, eta: eta))
        guard status != .delivered else {
            return try await call(
                .POST, "/v1/activities/order-\(order.id)/end",
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
        return try await call(.PUT, "/v1/activities/order-\(order.id)", .object(body))
    }

    /// What the server knows of an order: on which phones it is, and why it is not on the others.
    public func look(at order: Order) async throws -> Answer {
        try await call(.GET, "/v1/activities/order-\(order.id)", nil)
    }

    private enum Method: String {
        case GET, PUT, POST
    }

    private func call(_ method: Method, _ path: String, _ body: JSONValue?) async throws -> Answer {
        var request = HTTPClientRequest(url: islet + path)
        request.method = .init(rawValue: method.rawValue)
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: Self.timeLimit)
        let buffer = try await response.body.collect(upTo: Self.maximumAnswerBytes)
        return Answer(status: Int(response.status.code), body: try JSONValue(parsing: buffer.readableBytesView))
    }
}
