extension JSONObject {
    /// Returns this object with a merge patch applied (RFC 7396).
    ///
    /// Objects are merged, `null` removes a member, and any other value replaces the existing one.
    package func merged(with patch: JSONObject) -> JSONObject {
        var result = self
        for (key, value) in patch {
            switch value {
            case .null: result[key] = nil
            case .object(let inner): result[key] = .object((result[key]?.object ?? [:]).merged(with: inner))
            case .bool, .number, .string, .array: result[key] = value
            }
        }
        return result
    }
}
