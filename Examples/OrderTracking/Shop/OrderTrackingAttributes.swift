/// The app's own type, as it stands in the app's source: what its Live Activity shows, and what ActivityKit decodes.
public struct OrderTrackingAttributes: Codable, Hashable, Sendable {
    /// The half that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// Where the order is.
        public var status: OrderStatus
        /// From 0 to 1, for the progress bar.
        public var progress: Double
        /// Minutes until the door.
        public var eta: Int?

        /// The whole state: each push replaces all of the one before.
        public init(status: OrderStatus, progress: Double, eta: Int?) {
            self.status = status
            self.progress = progress
            self.eta = eta
        }
    }

    /// The order's number: by it the server finds the card again.
    public var orderId: String
    /// Where the food comes from; it does not change while the card lives.
    public var restaurant: String

    /// What is fixed when the activity starts.
    public init(orderId: String, restaurant: String) {
        self.orderId = orderId
        self.restaurant = restaurant
    }
}

/// Where an order is.
public enum OrderStatus: String, Codable, Hashable, Sendable, CaseIterable {
    case preparing, ready
    case pickedUp = "picked_up"
    case delivering, delivered

    /// The share of the way that is done.
    public var progress: Double {
        switch self {
        case .preparing: 0.2
        case .ready: 0.4
        case .pickedUp: 0.6
        case .delivering: 0.8
        case .delivered: 1
        }
    }

    /// The one status that a person should see at once; the rest may wait for the phone's convenience.
    public var isUrgent: Bool { self == .delivering }
}

extension OrderTrackingAttributes {
    /// The contract of this type, from `OrderTracking.json` beside it: what the server checks states against.
    public static var contract: [UInt8] { PackageResources.OrderTracking_json }
}
