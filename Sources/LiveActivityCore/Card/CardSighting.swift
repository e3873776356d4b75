import APNSModel

/// A report of a running card.
struct CardSighting {
    var localID: LocalID
    var startedAt: UnixTime?
    /// Number of the report; `nil` if the app does not number its reports.
    var sequence: Int64?
    /// Broadcast channel that the card is subscribed to; `nil` if there is none.
    var channel: ChannelID?
}
