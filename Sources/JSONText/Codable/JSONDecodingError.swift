import IsletBasics

/// Why a JSON value does not fit the type it was decoded as, and where.
///
/// It quotes what was given, shortened, but never a value below a member whose key contains "token" or "key": the error
/// goes into answers and logs, and credentials must not.
public struct JSONDecodingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of mistake it is.
    public enum Code: String, Sendable {
        /// A required member is absent.
        case missing
        /// A member that the type does not have.
        case unknownField
        /// A value of another JSON type, or a number that is no integer where one is needed.
        case wrongType
        /// A value of the right JSON type that the type itself refuses.
        case invalidValue
    }

    /// The value at fault; for a missing member, where it should be.
    public let pointer: JSONPointer
    /// What kind of mistake it is; stable, for programs.
    public let code: Code
    /// What would have been right, such as `integer` or ``one of `low`, `high` ``.
    public let expected: String
    /// What was there, in at most 60 characters; only its JSON type where it may be a secret.
    public let given: String
    /// What to do about it, when that can be guessed.
    public let fix: String?

    /// An error about the value at a pointer.
    public init(pointer: JSONPointer, code: Code, expected: String, given: String, fix: String? = nil) {
        self.pointer = pointer
        self.code = code
        self.expected = expected
        self.given = given
        self.fix = fix
    }

    /// One line such as ``/eta: expected integer, given 12.5``.
    public var description: String {
        let place = pointer == .root ? "" : "\(pointer): "
        let advice = fix.map { "; \($0)" } ?? ""
        return switch code {
        case .missing: "\(place)missing, expected \(expected)\(advice)"
        case .unknownField: "\(place)unknown field\(advice)"
        case .wrongType, .invalidValue: "\(place)expected \(expected), given \(given)\(advice)"
        }
    }

    /// How an error may quote a value: scalars as JSON text, containers and possible secrets by their type only.
    static func quote(_ value: JSONValue, at pointer: JSONPointer) -> String {
        let secret = pointer.tokens.contains { token in
            let key = token.lowercased()
            return key.contains("token") || key.contains("key")
        }
        return switch value {
        case .array, .object: value.kind
        case .null, .bool, .number, .string: secret ? value.kind : shortened(value.text)
        }
    }
}

/// Why a value cannot be written as JSON, and where.
public struct JSONEncodingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The member at fault.
    public let pointer: JSONPointer
    /// What is wrong, for people.
    public let detail: String

    /// The detail, behind the pointer.
    public var description: String { pointer == .root ? detail : "\(pointer): \(detail)" }
}

extension Spelling {
    /// "did you mean …?" for a near candidate, else the first twenty of them.
    static func advice(for word: String, among candidates: [String], called noun: String) -> String? {
        guard !candidates.isEmpty else { return nil }
        if let near = nearest(to: word, among: candidates) { return "did you mean `\(near)`?" }
        return "\(noun): " + list(candidates)
    }

    static func list(_ words: [String]) -> String {
        words.prefix(20).map { "`\($0)`" }.joined(separator: ", ") + (words.count > 20 ? ", …" : "")
    }
}
