extension Decoder {
    /// The error of a value that has the right JSON type but not the right content.
    func invalid(_ expectation: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: expectation))
    }

    /// The error of a value of another JSON type.
    func wrongType(_ type: Any.Type, _ expectation: String) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: expectation))
    }

    /// The error of two members that exclude each other, at the second.
    func excluded(_ key: any CodingKey, by other: any CodingKey) -> DecodingError {
        let expectation = "either `\(other.stringValue)` or `\(key.stringValue)`, not both"
        return .dataCorrupted(.init(codingPath: codingPath + [key], debugDescription: expectation))
    }
}
