/// ActivityKit's protocol.
protocol ActivityAttributes: Codable {
    associatedtype ContentState: Codable, Hashable
}
