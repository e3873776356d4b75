package import LiveActivityCore

/// Result of a command that was run and rolled back.
package struct Preview<Reply: Sendable>: Sendable {
    package var reply: Reply
    /// State that the activity would have.
    package var state: ActivityState
    /// Situations that the phones of each range would have.
    package var phones: [[PhoneSituation]]

    package init(reply: Reply, state: ActivityState, phones: [[PhoneSituation]]) {
        self.reply = reply
        self.state = state
        self.phones = phones
    }
}
