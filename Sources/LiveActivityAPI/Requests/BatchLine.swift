public import JSONText

/// One line of `POST /v1/batch`: a write as a call of its own would say it.
public struct BatchLine: Sendable, Hashable, Codable {
    /// The HTTP method, such as `PUT`.
    public var method: String
    /// The path with its query, percent-encoded, such as `/v1/activities/order-1`.
    public var path: String
    /// The body of the call; absent: none.
    public var body: JSONValue?
    /// What the header `Idempotency-Key` would say.
    public var idempotencyKey: String?
    /// What the header `If-Match` would say.
    public var ifMatch: String?

    /// A write without conditions.
    public init(method: String, path: String, body: JSONValue? = nil) {
        self.method = method
        self.path = path
        self.body = body
    }
}
