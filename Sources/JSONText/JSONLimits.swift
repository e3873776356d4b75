/// Limits on the size of a document that the parser accepts. Every limit has a standard value.
public struct JSONLimits: Sendable, Hashable {
    /// Maximum value of ``depth``. Parsing recurses once for each level.
    public static let deepest = 512

    /// Limits for a request body: 1 MiB, 32 levels, 100,000 values, keys of 1,024 bytes, numbers of 1,024 characters.
    public static let standard = JSONLimits()

    /// Maximum size of the whole document in bytes.
    public var bytes: Int
    /// Maximum depth of nested arrays and objects, at most ``deepest``.
    public var depth: Int
    /// Maximum number of values in the whole document, including arrays and objects.
    public var members: Int
    /// Maximum length of an object key in UTF-8 bytes, after unescaping.
    public var keyLength: Int
    /// Maximum length of a number in characters.
    public var numberLength: Int

    /// Creates limits that differ from ``standard`` only where a value is given.
    public init(
        bytes: Int = 1 << 20, depth: Int = 32, members: Int = 100_000, keyLength: Int = 1_024, numberLength: Int = 1_024
    ) {
        self.bytes = bytes
        self.depth = depth
        self.members = members
        self.keyLength = keyLength
        self.numberLength = numberLength
    }
}
