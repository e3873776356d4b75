/// A JSON object in its written form, which payload builders insert without parsing it.
///
/// The bytes are compact UTF-8, with members and numbers as they were written.
public struct EncodedObject: Sendable, Hashable {
    /// An object without members, `{}`.
    public static let empty = EncodedObject([:])

    /// The object as compact UTF-8 JSON.
    public let bytes: [UInt8]

    /// Creates the written form of an object.
    public init(_ object: JSONObject) {
        bytes = JSONValue.object(object).bytes
    }

    /// Creates the object that an `Encodable` value writes.
    ///
    /// Dates have the default format of Swift's `JSONEncoder`, which the `Codable` content state of an app decodes.
    ///
    /// - Throws: ``JSONEncodingError`` for a value that is not an object, and for a number that is not finite.
    public init(encoding value: some Encodable) throws(JSONEncodingError) {
        guard case .object(let object) = try JSONValue(encoding: value) else {
            throw JSONEncodingError(pointer: .root, detail: "the value does not encode as an object")
        }
        self.init(object)
    }

    /// Restores an object that was written by this type and stored, without parsing it again.
    ///
    /// `nil` for bytes that do not begin with `{` and end with `}`.
    package init?(stored bytes: [UInt8]) {
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else { return nil }
        self.bytes = bytes
    }

    /// Creates the object that JSON text describes, without its white space.
    ///
    /// - Throws: ``JSONSyntaxError`` for text that is not JSON within the limits, and for JSON that is not an object.
    public init(parsing bytes: some Collection<UInt8>, limits: JSONLimits = .standard) throws(JSONSyntaxError) {
        let value = try JSONValue(parsing: bytes, limits: limits)
        guard case .object(let object) = value else { throw JSONSyntaxError(notAnObject: value) }
        self.init(object)
    }
}
