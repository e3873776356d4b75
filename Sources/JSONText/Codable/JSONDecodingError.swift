import IsletBasics

/// An error of a JSON value that does not fit the type it is decoded as, with its place.
///
/// The error quotes the given value, shortened. It never quotes a value below a member whose key contains "token" or
/// "key", because errors go into answers and logs, and credentials must not.
public struct JSONDecodingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Kind of the mistake.
    public enum Code: String, Sendable {
        /// A required member is absent.
        case missing
        /// The type has no member of this name.
        case unknownField
        /// The value has another JSON type, or is a number with a fraction where an integer is needed.
        case wrongType
        /// The value has the right JSON type, but the type itself refuses it.
        case invalidValue
    }

    /// Pointer to the value at fault. For a missing member, the place where it should be.
    public let pointer: JSONPointer
    /// Kind of the mistake; stable, for programs.
    public let code: Code
    /// Description of a right value, such as `integer` or ``one of `low`, `high` ``.
    public let expected: String
    /// The given value in at most 60 characters, or only its JSON type if it may be a secret.
    public let given: String
    /// Advice on the repair, when it can be guessed.
    public let fix: String?

    /// Creates an error about the value at a pointer.
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

    /// Returns the text by which an error may quote a value: scalars as JSON text, containers and possible secrets as
    /// their type.
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

/// An error of a value that cannot be written as JSON, with its place.
public struct JSONEncodingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The member at fault.
    public let pointer: JSONPointer
    /// Message for people.
    public let detail: String

    /// Pointer and message.
    public var description: String { pointer == .root ? detail : "\(pointer): \(detail)" }
}

extension Spelling {
    /// Returns "did you mean …?" for a near candidate, otherwise the first twenty candidates.
    static func advice(for word: String, among candidates: [String], called noun: String) -> String? {
        guard !candidates.isEmpty else { return nil }
        if let near = nearest(to: word, among: candidates) { return "did you mean `\(near)`?" }
        return "\(noun): " + list(candidates)
    }

    static func list(_ words: [String]) -> String {
        words.prefix(20).map { "`\($0)`" }.joined(separator: ", ") + (words.count > 20 ? ", …" : "")
    }
}
