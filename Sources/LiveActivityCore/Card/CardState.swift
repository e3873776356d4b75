/// State of a phone with regard to an activity's card: the name of a `CardLife` in the API, the timeline and storage.
package enum CardState: Int, Sendable, CaseIterable {
    case absent = 0
    case requesting = 1
    case starting = 2
    case unconfirmed = 3
    case live = 4
    case ending = 5
    case ended = 6
    case dismissed = 7
    case gone = 8

    package var name: String { "\(self)" }
    /// `true` if the card is over.
    package var isTombstone: Bool { self == .ended || self == .dismissed || self == .gone }
    /// `true` if a card exists or may exist.
    package var mayHaveCard: Bool {
        switch self {
        case .starting, .unconfirmed, .live, .ending: true
        case .absent, .requesting, .ended, .dismissed, .gone: false
        }
    }
}
