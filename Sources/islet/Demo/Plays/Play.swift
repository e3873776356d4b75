import Foundation
import JSONText

/// One of the systems that Islet replaces, played by a backend of its own on simulated phones.
protocol Play: Sendable {
    /// What `islet demo --system` calls it.
    static var name: String { get }
    /// What is played, in a line.
    static var summary: String { get }
    /// The app on the phones, as the simulator installs it and the configuration has it.
    static var app: ExampleApp { get }

    init()

    /// Called between the simulator's start and the server's: `islet.yaml` is in the directory, and nobody has read
    /// it yet. For a play whose backend listens, or that configures more than its types.
    func prepare(in directory: URL) async throws

    /// The whole play. Each step ends with `PlayStage.expect`, which looks at every phone.
    ///
    /// - Throws: `DemoFailure` when a phone does not show what it should; any error fails the demo.
    func run(on stage: PlayStage) async throws

    /// How a card is drawn, in at most three short lines.
    static func lines(of card: JSONObject) -> [String]
}

extension Play {
    func prepare(in directory: URL) async throws {}
}

/// The systems that can be played.
enum Systems {
    /// In the order in which they are played.
    static let all: [any Play.Type] = [
        OrderPlay.self, EmojiRangersPlay.self, FocusTimerPlay.self, PagerPlay.self, NextUpPlay.self,
    ]

    static var names: [String] { all.map { $0.name } }

    static func named(_ name: String) -> (any Play.Type)? { all.first { $0.name == name } }
}
