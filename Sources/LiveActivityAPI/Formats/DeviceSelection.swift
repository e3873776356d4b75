import JSONText

/// A selection among the devices of each user in an audience.
public enum DeviceSelection: Sendable, Hashable {
    /// The device of each user that was in touch last. Encoded as `"lastActive"`. The default for starts.
    case lastActive
    /// All devices of each user. Encoded as `"all"`.
    case all
    /// The devices with these ids. Encoded as an array.
    case ids([String])
}

extension DeviceSelection: Codable {
    private static let expectation = "`lastActive`, `all` or an array of device ids"

    /// Decodes a selection from one of the two words, or from an array of device ids.
    public init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .string("lastActive"): self = .lastActive
        case .string("all"): self = .all
        case .string: throw decoder.invalid(Self.expectation)
        case .array: self = .ids(try [String](from: decoder))
        case .null, .bool, .number, .object: throw decoder.wrongType(DeviceSelection.self, Self.expectation)
        }
    }

    /// Encodes the word, or the array of device ids.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .lastActive: try container.encode("lastActive")
        case .all: try container.encode("all")
        case .ids(let ids): try container.encode(ids)
        }
    }
}
