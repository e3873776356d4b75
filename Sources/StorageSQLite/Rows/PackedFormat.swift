/// The formats of packed columns: each value says its own, so that every version knows what it can read.
///
/// Format 0 is that of rows from before values said it. Who changes how a column is packed gives it the next number,
/// goes on reading the earlier ones, and registers a migration in `Schema`, though no table changes: by it an older
/// version refuses the database when it opens it. A value of a later format is reported as such, and never guessed at.
enum PackedFormat {
    /// `instance.body`: in the six bits above its first flags, so that format 0 is what they have always held. Format 1
    /// keeps apart what a phone waits for; format 2 the alerts that were pushed, and what a notification told; format 3
    /// knows channels, and how often a card was opened.
    static let instance: UInt64 = 3
    /// `device.credentials`: behind a leading 0, where format 0 has the length of the first hash.
    static let credentials: UInt64 = 1
    /// `lane.flight_devices`: one byte before the devices of eight bytes each, which format 0 begins with.
    static let flightDevices: UInt64 = 1
    // `history.body` begins with the number of its format: `HistoryCoder.version`.
}
