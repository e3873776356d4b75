import JSONText

/// Which devices of the users in an audience show an activity.
public enum DeviceSelection: Sendable, Hashable {
    /// Of each user the device that was in touch last; written as `"lastActive"`. The default for starts.
    case lastActive
    /// All of them; written as `"all"`.
    case all
    /// These ones, by device id; written as an array.
    case ids([String])
}

extension DeviceSelection: Codable {
    private static let expectation = "`lastActive`, `all` or an array of device ids"

    /// A selection from one of the two words or from an array of device ids.
    public init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .string("lastActive"): self = .lastActive
        case .string("all"): self = .all
        case .string: throw decoder.invalid(Self.expectation)
        case .array: self = .ids(try [String](from: decoder))
        case .null, .bool, .number, .object: throw decoder.wrongType(DeviceSelection.self, Self.expectation)
        }
    }

    /// Writes the word, or the array of device ids.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .lastActive: try container.encode("lastActive")
        case .all: try container.encode("all")
        case .ids(let ids): try container.encode(ids)
        }
    }
}
