package import APNSModel

/// Whether a phone has a part in an activity.
package enum Membership: Sendable, Hashable {
    /// Its person is in the audience, and signed in there.
    case member
    /// Its person left, or nobody is signed in there: a card is only ended.
    case left
    /// It reported a card on its own word, without belonging to the audience. Until then it waits for its person to be
    /// named there, and nothing is told or sent to it.
    case waiting(until: UnixTime)
}
