package import LiveActivityAPI
package import LiveActivityStorage

#if PostgreSQL
    import StoragePostgreSQL
#endif

/// The addresses of a node.
package struct NodeSettings: Sendable, Equatable {
    /// Address that the listener for other nodes binds to.
    package var host: String
    package var port: Int
    /// URL at which other nodes reach it.
    package var address: String
    /// Path of certificates in PEM form that other nodes' certificates are checked with, besides the system's.
    package var trustRoots: String?

    /// Time after which a node that is not heard of counts as gone.
    package static let silence = Duration.seconds(5)

    package init(host: String, port: Int, address: String, trustRoots: String? = nil) {
        self.host = host
        self.port = port
        self.address = address
        self.trustRoots = trustRoots
    }
}

#if PostgreSQL
    extension NodeList {
        /// Returns nodes as the API shows them, the owner first.
        init(_ seen: NodesSeen) {
            let sorted = seen.nodes.sorted { ($0.isOwner ? 0 : 1, $0.address) < ($1.isOwner ? 0 : 1, $1.address) }
            self.init(
                nodes: sorted.map { node in
                    Node(
                        address: node.address,
                        role: node.isOwner ? .owner : node.silence > NodeSettings.silence ? .gone : .door,
                        version: node.version, upSeconds: Int(node.age / .seconds(1)),
                        silentSeconds: Int(node.silence / .seconds(1)), calls: node.calls)
                })
        }
    }
#endif

extension DatabaseLocation {
    /// Returns the nodes of the database that were heard of in the last ten minutes.
    ///
    /// - Returns: The nodes, and `true` if a process serves the database, whether it is one of them or not. `nil` for a
    ///   SQLite database, which has none.
    /// - Throws: `StorageError.cannotOpen` if the database server cannot be reached.
    package func nodes() throws(StorageError) -> (list: NodeList, isServed: Bool)? {
        #if PostgreSQL
            guard case .postgres(let url) = self else { return nil }
            let seen = try PostgresNodes(of: url).look(as: nil)
            return (NodeList(seen), seen.isServed)
        #else
            return nil
        #endif
    }
}
