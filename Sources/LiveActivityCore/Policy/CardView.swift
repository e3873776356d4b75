package import JSONText

/// Fields with which the console draws a card of a type. They do not change what is sent.
///
/// Texts have placeholders like those of an alert: `{/status} in {/eta|a few} minutes`.
package struct CardView: Sendable, Equatable {
    package var title: Phrase?
    package var subtitle: Phrase?
    /// A number from 0 to 1, or from 0 to 100.
    package var progress: JSONPointer?
    /// A date to count down to.
    package var countdown: JSONPointer?
    /// Name of one of Apple's SF Symbols.
    package var image: Phrase?

    package init() {}
}
