package import LiveActivityCore

/// So many phones of an activity, from the one after `after`.
package struct PhoneStretch: Sendable, Equatable {
    package var after: DeviceKey
    package var limit: Int

    package init(after: DeviceKey, limit: Int) {
        self.after = after
        self.limit = limit
    }
}

/// What a command would do.
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
