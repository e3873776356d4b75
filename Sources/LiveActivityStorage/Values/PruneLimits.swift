import LiveActivityCore

/// How long what is kept is kept.
package struct PruneLimits: Sendable, Equatable {
    /// Timelines: by age or by the size of all, whichever comes first, by whole rows. The app with most loses first.
    package var history = Duration.seconds(7 * 24 * 3600)
    package var historyBytes = 10 << 30
    package var tombstones = TombstoneRecord.lifetime
    package var idempotencyKeys = IdempotencyRecord.lifetime
    /// Activities, from their end on.
    package var ended = Duration.seconds(30 * 86_400)
    /// Devices whose person signed out, from then on.
    package var signedOut = Duration.seconds(30 * 86_400)
    /// Devices that were not heard of.
    package var silent = Duration.seconds(365 * 86_400)
    /// Update tokens, from the end of what they belong to: iOS ends a card after 8 hours and takes it away after 12.
    package var endedTokens = Duration.seconds(12 * 3600)
    /// That a token's value is dead.
    package var deadTokens = Duration.seconds(90 * 86_400)
    /// Whose a token's value was that nothing holds any more.
    package var releasedTokens = TokenOwnerRecord.keptFor
    /// Activities that only a phone has spoken of.
    package var announced = Duration.seconds(48 * 3600)
    /// Events: by age or by the number of all, whichever comes first. The app with most loses first.
    package var events = Duration.seconds(7 * 86_400)
    package var eventCount = 1_000_000
    /// Rows of each kind that one call erases at most.
    package var rows = 1000

    package init() {}
}
