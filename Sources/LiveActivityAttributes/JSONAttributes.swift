#if os(iOS) && !targetEnvironment(macCatalyst)
    internal import ActivityKit
#elseif canImport(ActivityKitStandIn)
    internal import ActivityKitStandIn
#endif

#if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
    /// Attributes and a state of any form, for an app that is written in JavaScript or Dart and gives both as JSON.
    ///
    /// Attributes of one's own are better where there is Swift: what they cannot decode is noticed before it is sent.
    /// In the server's configuration the type has `attributesType: JSONAttributes`.
    ///
    /// ```swift
    /// ActivityConfiguration(for: JSONAttributes.self) { context in
    ///     Text(context.state["status"]?.string ?? "")
    /// }
    /// ```
    @available(iOS 16.1, *)
    public struct JSONAttributes: IsletAttributes, Hashable, Sendable {
        /// The state: a JSON object.
        public struct ContentState: Codable, Hashable, Sendable {
            /// The members of the object.
            public var members: [String: JSONElement]

            /// A state that has these.
            public init(_ members: [String: JSONElement]) { self.members = members }

            /// The member of that name; `nil`: there is none.
            public subscript(name: String) -> JSONElement? { members[name] }

            /// - Throws: `DecodingError` where it is no object.
            public init(from decoder: any Decoder) throws { members = try .init(from: decoder) }

            /// Writes the object.
            public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }
        }

        /// Filled by the server. The app leaves it `nil`, or names the activity that it starts.
        public var islet: IsletTag?
        /// The other members of the object.
        public var members: [String: JSONElement]

        /// Attributes that have these.
        ///
        /// - Parameter activity: The activity's id, where the app knows it.
        public init(_ members: [String: JSONElement], activity: String? = nil) {
            self.members = members
            islet = activity.map { IsletTag(activity: $0) }
        }

        /// The member of that name; `nil`: there is none. The tag is not among them.
        public subscript(name: String) -> JSONElement? { members[name] }

        private enum CodingKeys: String, CodingKey { case islet }

        /// - Throws: `DecodingError` where they are no object.
        public init(from decoder: any Decoder) throws {
            islet = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(IsletTag.self, forKey: .islet)
            members = try .init(from: decoder)
            members[CodingKeys.islet.rawValue] = nil
        }

        /// Writes one object, the tag in it.
        public func encode(to encoder: any Encoder) throws {
            try members.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(islet, forKey: .islet)
        }
    }
#endif
