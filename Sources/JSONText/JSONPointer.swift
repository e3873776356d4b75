/// Place of a value inside a document, in the syntax of RFC 6901: `/devices/0/token`. The empty text is the root.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The whole document.
    public static let root = JSONPointer(tokens: [])

    /// The keys and array indices from the root down, unescaped.
    public let tokens: [String]

    /// Creates a pointer that follows these unescaped tokens from the root.
    public init(tokens: [String]) {
        self.tokens = tokens
    }

    /// Creates a pointer from its text.
    ///
    /// - Throws: ``JSONPointerError`` with the code `badSyntax` in two cases (RFC 6901 section 3):
    ///   - The text is not empty and does not start with `/`.
    ///   - A `~` is not followed by `0` or `1`.
    public init(_ text: String) throws(JSONPointerError) {
        guard !text.isEmpty else {
            self = .root
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else {
            throw JSONPointerError(code: .badSyntax, detail: "a JSON Pointer is empty or starts with `/` (RFC 6901)")
        }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            tokens.append(try Self.unescaped(part))
        }
        self.tokens = tokens
    }

    /// Returns the pointer to the member with this key, in the object that this pointer names.
    public func appending(_ key: String) -> JSONPointer {
        JSONPointer(tokens: tokens + [key])
    }

    /// Returns the pointer to the element at this index, counted from 0, in the array that this pointer names.
    public func appending(_ index: Int) -> JSONPointer {
        appending(String(index))
    }

    /// The text of the pointer, escaped as RFC 6901 asks: `~` as `~0` and `/` as `~1`.
    public var description: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes += Array("~0".utf8)
                case UInt8(ascii: "/"): bytes += Array("~1".utf8)
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unescaped(_ part: Substring.UTF8View) throws(JSONPointerError) -> String {
        var bytes: [UInt8] = []
        var rest = part[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: throw JSONPointerError(code: .badSyntax, detail: "`~` must be followed by `0` or `1` (RFC 6901)")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns `true` if both pointers have the same tokens, byte by byte.
    public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens) { ExactText($0) == ExactText($1) }
    }

    /// Hashes the tokens byte by byte.
    public func hash(into hasher: inout Hasher) {
        for token in tokens { hasher.combine(ExactText(token)) }
    }
}

/// An error of a text that is no JSON Pointer, or of a pointer where nothing can be stored.
public struct JSONPointerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Kind of the mistake.
    public enum Code: String, Sendable {
        /// The text breaks the grammar of RFC 6901.
        case badSyntax
        /// A value on the way is neither an object nor an array, so it has no members.
        case notAContainer
        /// An array on the way has no such element.
        case noSuchElement
    }

    /// Kind of the mistake; stable, for programs.
    public let code: Code
    /// Message for people.
    public let detail: String

    /// Creates an error with a code for programs and a message for people.
    public init(code: Code, detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Message for people.
    public var description: String { detail }
}
