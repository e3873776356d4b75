package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage

extension SQLStore {
    package func refreshTimes(of app: BundleID, _ type: String) async throws(StorageError) -> RefreshTimes {
        try await query { sql in
            func earliest(_ pace: RefreshRecord.Pace) throws -> UnixTime? {
                try sql.number(
                    """
                    SELECT due_at FROM refresh INDEXED BY refresh_due
                    WHERE app = ? AND type = ? AND pace = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1
                    """, [.text(app.text), .text(type), .int(Int64(pace.rawValue))]
                ).map(UnixTime.init(milliseconds:))
            }
            return RefreshTimes(prompt: try earliest(.prompt), paced: try earliest(.paced))
        }
    }

    package func refreshes(of user: UserID, in app: BundleID) async throws(StorageError) -> [RefreshRecord] {
        try await query { sql in
            var found: [RefreshRecord] = []
            try sql.query(
                """
                SELECT \(RefreshRecord.list) FROM refresh
                WHERE user = (SELECT no FROM user WHERE app = ? AND id = ?) ORDER BY type
                """, [.text(app.text), .text(user.text)]
            ) { row in found.append(try RefreshRecord(&row)) }
            return found
        }
    }

    package func people(
        of app: BundleID, after: UserNumber, limit: Int
    ) async throws(StorageError) -> [(number: UserNumber, id: UserID)] {
        let rows = try await query { sql in
            var found: [UserRow] = []
            try sql.query(Self.pageOfPeople, [.text(app.text), .int(after), .int(Int64(limit))]) { row in
                found.append(try UserRow(&row))
            }
            return found
        }
        return rows.map { ($0.number, $0.id) }
    }

    /// Selects a page of people in the order of their numbers. The index of names would sort all people of an app again
    /// for each page.
    static let pageOfPeople = """
        SELECT \(UserRow.list) FROM user
        WHERE +app = ? AND no > ? AND EXISTS (SELECT 1 FROM device WHERE device.user = user.no)
        ORDER BY no LIMIT ?
        """
}
