public import JSONText

/// One line of `POST /v1/batch`: a write that could also be a call of its own.
public struct BatchLine: Sendable, Hashable, Codable {
    /// The HTTP method, such as `PUT`.
    public var method: String
    /// The path with its query, percent-encoded, such as `/v1/activities/order-1`.
    public var path: String
    /// The body of the call. Default: none.
    public var body: JSONValue?
    /// The value of the header `Idempotency-Key`. Default: none.
    public var idempotencyKey: String?
    /// The value of the header `If-Match`. Default: none.
    public var ifMatch: String?

    /// Creates a write without an idempotency key and without `If-Match`.
    public init(method: String, path: String, body: JSONValue? = nil) {
        self.method = method
        self.path = path
        self.body = body
    }
}
