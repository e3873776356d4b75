/// As ActivityKit has it.
protocol ActivityAttributes: Codable {
    associatedtype ContentState: Codable, Hashable
}
