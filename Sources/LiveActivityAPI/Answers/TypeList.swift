public import JSONText

/// The answer of `GET /v1/types`: the activity types of the caller's app, as configured.
public struct TypeList: Sendable, Hashable, Codable {
    /// The types, sorted by name.
    public var types: [Row]

    /// One activity type.
    public struct Row: Sendable, Hashable, Codable {
        /// The name of the type in the API.
        public var type: String
        /// The Swift name of the app's attributes type.
        public var attributesType: String
        /// A JSON Pointer to the member of the attributes that names the activity. `nil` if none does.
        public var activityIDAttribute: String?
        /// `true` if a provider computes what the type shows.
        public var isProvided: Bool
        /// The contract of the app's newest build. `nil` if any object is accepted.
        public var contract: JSONObject?
        /// The policy in the form of the configuration, defaults included. Durations are text such as `90s`.
        public var policy: JSONObject
        /// The fields that are used to draw a card. `nil` if none are configured.
        public var view: View?

        /// Creates a row.
        public init(
            type: String, attributesType: String, activityIDAttribute: String? = nil, isProvided: Bool,
            contract: JSONObject? = nil, policy: JSONObject, view: View? = nil
        ) {
            self.type = type
            self.attributesType = attributesType
            self.activityIDAttribute = activityIDAttribute
            self.isProvided = isProvided
            self.contract = contract
            self.policy = policy
            self.view = view
        }
    }

    /// The way to draw a card. Texts may contain values of the state, as in `{/status|unknown}`.
    public struct View: Sendable, Hashable, Codable {
        /// The first line.
        public var title: String?
        /// The second line.
        public var subtitle: String?
        /// A JSON Pointer to a number from 0 to 1, or from 0 to 100.
        public var progress: String?
        /// A JSON Pointer to a date.
        public var countdown: String?
        /// The name of one of Apple's symbols.
        public var image: String?

        /// Creates a view without any fields.
        public init() {}
    }

    /// Creates a list of types.
    public init(types: [Row]) {
        self.types = types
    }
}
