/// The formats of packed columns. Each value contains its own format, so that every version knows which values it can
/// read.
///
/// Format 0 belongs to rows from before values contained it. To change how a column is packed:
///
/// - Give it the next number.
/// - Continue to read the earlier formats.
/// - Register a migration in `Schema`, although no table changes. An older version then refuses the database when it
///   opens it.
///
/// A value of a newer format is reported as such, and never guessed.
enum PackedFormat {
    /// The format of `instance.body`, in the six bits above its first flags. Format 0 is what these bits contained
    /// before.
    ///
    /// - Format 1 separates the instants that a phone waits for.
    /// - Format 2 separates alerts that were pushed from alerts that a notification told.
    /// - Format 3 adds channels and the number of times a card was opened.
    static let instance: UInt64 = 3
    /// The format of `device.credentials`, after a leading 0. In format 0, that byte is the length of the first hash.
    static let credentials: UInt64 = 1
    /// The format of `lane.flight_devices`: one byte before the devices of eight bytes each. Format 0 begins with the
    /// devices.
    static let flightDevices: UInt64 = 1
    // `history.body` begins with the number of its format: `HistoryCoder.version`.
}
