#if os(iOS) && !targetEnvironment(macCatalyst)
    internal import ActivityKit
#elseif canImport(ActivityKitStandIn)
    internal import ActivityKitStandIn
#endif

#if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
    /// Attributes and a content state of any form, for an app in JavaScript or Dart that has both as JSON.
    ///
    /// Prefer attributes of your own where the app has Swift, because they notice what they cannot decode before it is
    /// sent. In the server's configuration the type has `attributesType: JSONAttributes`.
    ///
    /// ```swift
    /// ActivityConfiguration(for: JSONAttributes.self) { context in
    ///     Text(context.state["status"]?.string ?? "")
    /// }
    /// ```
    @available(iOS 16.1, *)
    public struct JSONAttributes: IsletAttributes, Hashable, Sendable {
        /// The content state, a JSON object.
        public struct ContentState: Codable, Hashable, Sendable {
            /// The members of the object.
            public var members: [String: JSONElement]

            /// Creates a content state with these members.
            public init(_ members: [String: JSONElement]) { self.members = members }

            /// The member with this name, or `nil` if there is none.
            public subscript(name: String) -> JSONElement? { members[name] }

            /// Decodes a JSON object.
            ///
            /// - Throws: `DecodingError` if the value is not an object.
            public init(from decoder: any Decoder) throws { members = try .init(from: decoder) }

            /// Encodes a JSON object.
            public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }
        }

        /// The server's tag. The server fills it in the attributes of a Live Activity that it starts. The app leaves it
        /// `nil`, or names the activity that it starts.
        public var islet: IsletTag?
        /// The members of the object, without the tag.
        public var members: [String: JSONElement]

        /// Creates attributes with these members.
        ///
        /// - Parameter activity: The activity's id, if the app knows it.
        public init(_ members: [String: JSONElement], activity: String? = nil) {
            self.members = members
            islet = activity.map { IsletTag(activity: $0) }
        }

        /// The member with this name, or `nil` if there is none. The tag is not a member.
        public subscript(name: String) -> JSONElement? { members[name] }

        private enum CodingKeys: String, CodingKey { case islet }

        /// Decodes a JSON object with the tag in it.
        ///
        /// - Throws: `DecodingError` if the value is not an object.
        public init(from decoder: any Decoder) throws {
            islet = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(IsletTag.self, forKey: .islet)
            members = try .init(from: decoder)
            members[CodingKeys.islet.rawValue] = nil
        }

        /// Encodes one JSON object with the tag in it.
        public func encode(to encoder: any Encoder) throws {
            try members.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(islet, forKey: .islet)
        }
    }
#endif
