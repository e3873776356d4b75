public import JSONText

/// The answer of `GET /v1/types`: the activity types of the caller's app, as they are configured.
public struct TypeList: Sendable, Hashable, Codable {
    /// The types, by name.
    public var types: [Row]

    /// One activity type.
    public struct Row: Sendable, Hashable, Codable {
        /// What the API calls it.
        public var type: String
        /// The Swift name of the app's attributes type.
        public var attributesType: String
        /// Where the attributes name the activity, as a JSON Pointer; absent: they do not.
        public var activityIDAttribute: String?
        /// A provider computes what it shows.
        public var isProvided: Bool
        /// The contract of the app's newest build; absent: any object is taken.
        public var contract: JSONObject?
        /// The policy in the words of the configuration, defaults included; durations are texts such as `90s`.
        public var policy: JSONObject
        /// Which field is what where a card is drawn; absent: nobody said.
        public var view: View?

        /// One activity type.
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

    /// How a card is drawn. Texts have places such as `{/status|unknown}`.
    public struct View: Sendable, Hashable, Codable {
        /// The first line.
        public var title: String?
        /// The second line.
        public var subtitle: String?
        /// A JSON Pointer to a number from 0 to 1, or to 100.
        public var progress: String?
        /// A JSON Pointer to a date.
        public var countdown: String?
        /// The name of one of Apple's symbols.
        public var image: String?

        /// A card without anything.
        public init() {}
    }

    /// All types.
    public init(types: [Row]) {
        self.types = types
    }
}
