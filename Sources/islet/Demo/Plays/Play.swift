import Foundation
import JSONText

/// A system that Islet replaces, played by its own backend on simulated phones.
protocol Play: Sendable {
    /// Name of the play for `islet demo --system`.
    static var name: String { get }
    /// Summary in one line.
    static var summary: String { get }
    /// App on the phones, as the simulator installs it and the configuration describes it.
    static var app: ExampleApp { get }

    init()

    /// Prepares a play whose backend listens, or that configures more than its types.
    ///
    /// Runs after the simulator's start and before the server's. `islet.yaml` is in the directory, and nothing has read
    /// it yet.
    func prepare(in directory: URL) async throws

    /// Runs the whole play. Each step ends with `PlayStage.expect`, which checks every phone.
    ///
    /// - Throws: `DemoFailure` if a phone does not show the expected cards. Any error fails the demo.
    func run(on stage: PlayStage) async throws

    /// Returns a drawing of a card, in at most three short lines.
    static func lines(of card: JSONObject) -> [String]
}

extension Play {
    func prepare(in directory: URL) async throws {}
}

/// The systems that can be played.
enum Systems {
    /// All systems, in the order in which they are played.
    static let all: [any Play.Type] = [
        OrderPlay.self, EmojiRangersPlay.self, FocusTimerPlay.self, PagerPlay.self, NextUpPlay.self,
    ]

    static var names: [String] { all.map { $0.name } }

    static func named(_ name: String) -> (any Play.Type)? { all.first { $0.name == name } }
}
