/// The app's own type, as in the app's source. Its Live Activity shows it, and ActivityKit decodes it.
public struct OrderTrackingAttributes: Codable, Hashable, Sendable {
    /// The part that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The status of the order.
        public var status: OrderStatus
        /// The progress from 0 to 1, for the progress bar.
        public var progress: Double
        /// The minutes until the delivery.
        public var eta: Int?

        /// Creates the whole state. Each push replaces everything of the previous one.
        public init(status: OrderStatus, progress: Double, eta: Int?) {
            self.status = status
            self.progress = progress
            self.eta = eta
        }
    }

    /// The order's number. The server finds the card by it.
    public var orderId: String
    /// The restaurant. It does not change while the card lives.
    public var restaurant: String

    /// Creates the part that is fixed when the activity starts.
    public init(orderId: String, restaurant: String) {
        self.orderId = orderId
        self.restaurant = restaurant
    }
}

/// The status of an order.
public enum OrderStatus: String, Codable, Hashable, Sendable, CaseIterable {
    case preparing, ready
    case pickedUp = "picked_up"
    case delivering, delivered

    /// The progress of the order with this status, from 0 to 1.
    public var progress: Double {
        switch self {
        case .preparing: 0.2
        case .ready: 0.4
        case .pickedUp: 0.6
        case .delivering: 0.8
        case .delivered: 1
        }
    }

    /// `true` for the one status that a person should see at once. The others may wait.
    public var isUrgent: Bool { self == .delivering }
}

extension OrderTrackingAttributes {
    /// The contract of this type, from `OrderTracking.json` beside this file. The server checks states against it.
    public static var contract: [UInt8] { PackageResources.OrderTracking_json }
}
