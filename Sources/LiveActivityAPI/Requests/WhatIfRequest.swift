public import JSONText

/// The body of `POST /v1/types/{type}/what-if`: a change of a type's policy, and the recorded time to try it on.
public struct WhatIfRequest: Sendable, Hashable, Codable {
    /// The members of the configuration's `policy` that differ, merged into the present policy.
    ///
    /// `null` removes a member, so that its default applies.
    public var policy: JSONObject
    /// The start of the time. Default: ``hours`` before ``to``.
    public var from: Instant?
    /// The end of the time. Default: now.
    public var to: Instant?
    /// The length of the time in hours, 1 to 24, counted back from ``to``. Default: 24, unless ``from`` is set.
    public var hours: Int?

    /// Creates a request to try a policy on the last 24 hours, or on another recorded time.
    public init(policy: JSONObject, from: Instant? = nil, to: Instant? = nil, hours: Int? = nil) {
        self.policy = policy
        self.from = from
        self.to = to
        self.hours = hours
    }
}
