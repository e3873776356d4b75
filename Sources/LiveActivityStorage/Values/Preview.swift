package import LiveActivityCore

/// The outcome of a command that was tried and taken back.
package struct Preview<Reply: Sendable>: Sendable {
    package var reply: Reply
    /// The activity as it would stand.
    package var state: ActivityState
    /// The phones of each stretch as they would stand.
    package var phones: [[PhoneSituation]]

    package init(reply: Reply, state: ActivityState, phones: [[PhoneSituation]]) {
        self.reply = reply
        self.state = state
        self.phones = phones
    }
}
