import Foundation
import JSONText

/// Way in which a change reaches the phones of a benchmark.
enum FanoutRoute: String, Sendable {
    /// Each card has an update token.
    case token
    /// The cards of an activity are on its broadcast channel.
    case channel

    /// The play whose app is on the phones and in the configuration.
    var play: any Play {
        switch self {
        case .token: return OrderPlay()
        case .channel: return ChannelOrderPlay()
        }
    }

    /// Returns the number of pushes and broadcasts that a change costs.
    func due(_ population: Population, activities: Int) -> (pushes: Int, broadcasts: Int) {
        switch self {
        case .token: (pushes: activities * population.phones, broadcasts: 0)
        case .channel: (pushes: 0, broadcasts: activities)
        }
    }
}

/// The order app, configured so that cards are on broadcast channels. Everybody may then see every order.
struct ChannelOrderPlay: Play {
    static let name = OrderPlay.name
    static let summary = OrderPlay.summary
    static let app = OrderPlay.app

    private static let policy = "        policy:\n"

    func prepare(in directory: URL) async throws {
        let file = directory.appendingPathComponent("islet.yaml")
        let text = try String(contentsOf: file, encoding: .utf8)
        guard let place = text.firstRange(of: Self.policy) else { throw CommandError("islet.yaml has no policy") }
        let (before, after) = (text[..<place.lowerBound], text[place.upperBound...])
        let changed = "\(before)        public: true\n\(Self.policy)          delivery: channel\n\(after)"
        try Data(changed.utf8).write(to: file)
    }

    func run(on stage: PlayStage) async throws {}

    static func lines(of card: JSONObject) -> [String] { OrderPlay.lines(of: card) }
}
