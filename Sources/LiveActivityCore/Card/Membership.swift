package import APNSModel

/// Part that a phone has in an activity.
package enum Membership: Sendable, Hashable {
    /// The person is in the audience and signed in on the phone.
    case member
    /// The person left, or nobody is signed in on the phone. A card there is only ended.
    case left
    /// The phone reported a card on its own word, but its person is not in the audience. The report waits until this
    /// time for the person to be named there. Meanwhile nothing is sent to the phone, and no events mention it.
    case waiting(until: UnixTime)
}
