package import JSONText

/// How the console draws a card of a type: which of its fields is what. It changes nothing of what is sent.
///
/// Texts have places as those of an alert: `{/status} in {/eta|a few} minutes`.
package struct CardView: Sendable, Equatable {
    package var title: Phrase?
    package var subtitle: Phrase?
    /// A number from 0 to 1, or from 0 to 100.
    package var progress: JSONPointer?
    /// A date that time is counted down to.
    package var countdown: JSONPointer?
    /// The name of one of Apple's symbols.
    package var image: Phrase?

    package init() {}
}
