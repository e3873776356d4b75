/// A JSON object that is already written: payload builders splice its bytes in without looking inside.
///
/// The bytes are compact UTF-8, with members in the order in which they were written and numbers as written.
public struct EncodedObject: Sendable, Hashable {
    /// The object without members, `{}`.
    public static let empty = EncodedObject([:])

    /// The object as compact UTF-8 JSON.
    public let bytes: [UInt8]

    /// The object, written.
    public init(_ object: JSONObject) {
        bytes = JSONValue.object(object).bytes
    }

    /// The object that an `Encodable` value writes, dates as Swift's own `JSONEncoder` writes them by default: what an
    /// app's `Codable` content state decodes.
    ///
    /// Throws ``JSONEncodingError`` for what is not an object, and for a number that is not finite.
    public init(encoding value: some Encodable) throws(JSONEncodingError) {
        guard case .object(let object) = try JSONValue(encoding: value) else {
            throw JSONEncodingError(pointer: .root, detail: "it does not write an object")
        }
        self.init(object)
    }

    /// An object that was written here and kept: `nil` for bytes that cannot be one. Not parsed again.
    package init?(stored bytes: [UInt8]) {
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else { return nil }
        self.bytes = bytes
    }

    /// The object that some JSON text writes, without its white space.
    ///
    /// Throws ``JSONSyntaxError`` for what is not JSON within the limits, and for JSON that is not an object.
    public init(parsing bytes: some Collection<UInt8>, limits: JSONLimits = .standard) throws(JSONSyntaxError) {
        let value = try JSONValue(parsing: bytes, limits: limits)
        guard case .object(let object) = value else { throw JSONSyntaxError(notAnObject: value) }
        self.init(object)
    }
}
