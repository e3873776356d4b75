public import JSONText

/// The body of `POST /v1/types/{type}/what-if`: what a type's policy would be, and on which day to try it.
public struct WhatIfRequest: Sendable, Hashable, Codable {
    /// Words of the configuration that are laid over the present policy, by name; null: what holds when it is left out.
    public var policy: JSONObject
    /// From when on; nil: `hours` before `to`.
    public var from: Instant?
    /// Until when; nil: now.
    public var to: Instant?
    /// How many hours before `to`, 1 to 24; nil: 24, unless `from` says it.
    public var hours: Int?

    /// Asks what a policy would have made of the last 24 hours, or of others.
    public init(policy: JSONObject, from: Instant? = nil, to: Instant? = nil, hours: Int? = nil) {
        self.policy = policy
        self.from = from
        self.to = to
        self.hours = hours
    }
}
