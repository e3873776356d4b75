import ArgumentParser
import EmbeddedIslet
import JSONText
import LiveActivityAPI

/// The `islet nodes` command, which shows the processes that share a PostgreSQL database.
struct Nodes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the servers that share the database, and which of them owns it.",
        discussion: """
            Asks the database, so it works while no server runs. A server that has ended without saying so is shown \
            for ten minutes after it was last heard of.
            """)

    @OptionGroup var file: ConfigurationOption
    @Flag(help: "Prints JSON.") var json = false

    func run() async throws {
        let settings = try file.settings()
        guard let (list, isServed) = try settings.database.nodes() else {
            throw CommandError("only a PostgreSQL database has nodes, not \(settings.database)")
        }
        Output.line(json ? try Self.document(list) : Self.table(list, isServed: isServed))
    }

    static func table(_ list: NodeList, isServed: Bool) -> String {
        guard !list.nodes.isEmpty else {
            return isServed ? "one server without `nodes` in its configuration" : "no server runs"
        }
        let rows = list.nodes.map {
            [
                $0.address, $0.role.rawValue, $0.version, time($0.upSeconds), "\(time($0.silentSeconds)) ago",
                "\($0.calls)",
            ]
        }
        return String(Columns.text(["ADDRESS", "ROLE", "VERSION", "UP", "HEARD OF", "CALLS"], rows).dropLast())
    }

    private static func document(_ list: NodeList) throws -> String {
        let nodes = try JSONValue(encoding: list.nodes)
        return String(decoding: nodes.bytes, as: UTF8.self)
    }

    private static func time(_ seconds: Int) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
