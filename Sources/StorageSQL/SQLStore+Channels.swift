package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore {
    package func nextChannelAt() async throws(StorageError) -> UnixTime? {
        try await query { sql in
            try sql.number(
                "SELECT due_at FROM channel INDEXED BY channel_due WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1"
            ).map(UnixTime.init(milliseconds:))
        }
    }

    package func channels(of app: BundleID, limit: Int) async throws(StorageError) -> [ChannelRecord] {
        try await query { sql in
            var found: [ChannelRecord] = []
            try sql.query(
                "SELECT \(ChannelRecord.list) FROM channel WHERE app = ? ORDER BY env, activity, run LIMIT ?",
                [.text(app.text), .int(Int64(limit))]
            ) { row in found.append(try ChannelRecord(&row)) }
            return found
        }
    }
}
