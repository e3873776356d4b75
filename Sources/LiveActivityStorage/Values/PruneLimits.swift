import LiveActivityCore

/// Retention limits of stored data.
package struct PruneLimits: Sendable, Equatable {
    /// Timelines, by age or by their total size in bytes, whichever limit is reached first. Whole rows are erased. The
    /// app with the most data loses rows first.
    package var history = Duration.seconds(7 * 24 * 3600)
    package var historyBytes = 10 << 30
    package var tombstones = TombstoneRecord.lifetime
    package var idempotencyKeys = IdempotencyRecord.lifetime
    /// Activities, counted from their end.
    package var ended = Duration.seconds(30 * 86_400)
    /// Devices whose person signed out, counted from the sign-out.
    package var signedOut = Duration.seconds(30 * 86_400)
    /// Devices without contact.
    package var silent = Duration.seconds(365 * 86_400)
    /// Push tokens, counted from the end of their activity or the sign-out of their device. iOS ends a card after 8
    /// hours and removes it after 12.
    package var endedTokens = Duration.seconds(12 * 3600)
    /// Records that a token value is dead.
    package var deadTokens = Duration.seconds(90 * 86_400)
    /// Records of the owner of a token value that nothing holds any more.
    package var releasedTokens = TokenOwnerRecord.keptFor
    /// Activities that only a phone has reported.
    package var announced = Duration.seconds(48 * 3600)
    /// Events, by age or by their total number, whichever limit is reached first. The app with the most events loses
    /// events first.
    package var events = Duration.seconds(7 * 86_400)
    package var eventCount = 1_000_000
    /// Maximum number of rows of each kind that one call erases.
    package var rows = 1000

    package init() {}
}
