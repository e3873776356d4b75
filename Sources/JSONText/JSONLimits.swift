/// How large a document may be before the parser refuses it; every limit has a standard value.
public struct JSONLimits: Sendable, Hashable {
    /// The most nested arrays and objects that ``depth`` may ask for: parsing recurses once per level.
    public static let deepest = 512

    /// The limits for a request body: 1 MiB, 32 levels, 100,000 values, keys of 1,024 bytes, numbers of 1,024 digits.
    public static let standard = JSONLimits()

    /// The most bytes of the whole document.
    public var bytes: Int
    /// The most arrays and objects inside one another; at most ``deepest``.
    public var depth: Int
    /// The most values in the whole document, arrays and objects included.
    public var members: Int
    /// The most UTF-8 bytes of one object key, after unescaping.
    public var keyLength: Int
    /// The most characters of one number.
    public var numberLength: Int

    /// Limits that differ from ``standard`` only where a value is given.
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
