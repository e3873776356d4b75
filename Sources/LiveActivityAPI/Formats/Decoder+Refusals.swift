extension Decoder {
    /// Returns the error for a value that has the right JSON type but the wrong content.
    func invalid(_ expectation: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: expectation))
    }

    /// Returns the error for a value of the wrong JSON type.
    func wrongType(_ type: Any.Type, _ expectation: String) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: expectation))
    }

    /// Returns the error for two members that exclude each other. Its coding path is that of the second member.
    func excluded(_ key: any CodingKey, by other: any CodingKey) -> DecodingError {
        let expectation = "either `\(other.stringValue)` or `\(key.stringValue)`, not both"
        return .dataCorrupted(.init(codingPath: codingPath + [key], debugDescription: expectation))
    }
}
