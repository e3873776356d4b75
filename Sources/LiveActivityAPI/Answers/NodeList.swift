/// The answer of `GET /v1/nodes`: the servers that share the database.
public struct NodeList: Sendable, Hashable, Codable {
    /// The nodes, the owner first. Empty if there is one server, without `nodes` in its configuration.
    public var nodes: [Node]

    /// One node.
    public struct Node: Sendable, Hashable, Codable {
        /// The role of a node.
        public enum Role: String, Sendable, Hashable, Codable, CaseIterable {
            /// Owns the database: it decides, pushes and answers.
            case owner
            /// Passes calls on to the owner.
            case door
            /// Has not been heard of for more than five seconds.
            case gone
        }

        /// The URL at which the other nodes reach it.
        public var address: String
        /// Its role.
        public var role: Role
        /// The version of its program.
        public var version: String
        /// The time since it started, in seconds.
        public var upSeconds: Int
        /// The time since it was last heard of, in seconds.
        public var silentSeconds: Int
        /// The number of calls that callers have made to it since it started.
        public var calls: Int

        /// Creates a node.
        public init(address: String, role: Role, version: String, upSeconds: Int, silentSeconds: Int, calls: Int) {
            self.address = address
            self.role = role
            self.version = version
            self.upSeconds = upSeconds
            self.silentSeconds = silentSeconds
            self.calls = calls
        }
    }

    /// Creates a list of nodes.
    public init(nodes: [Node]) {
        self.nodes = nodes
    }
}
