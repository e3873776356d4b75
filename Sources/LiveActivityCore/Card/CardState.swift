/// Where a phone stands with an activity's card: the name of a `CardLife`, as the API, the timeline and storage say it.
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
    /// No card of this life is expected any more.
    package var isTombstone: Bool { self == .ended || self == .dismissed || self == .gone }
    /// A card is there, or may be.
    package var mayHaveCard: Bool {
        switch self {
        case .starting, .unconfirmed, .live, .ending: true
        case .absent, .requesting, .ended, .dismissed, .gone: false
        }
    }
}
