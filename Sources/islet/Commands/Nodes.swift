import ArgumentParser
import EmbeddedIslet
import JSONText

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
        guard let (nodes, isServed) = try settings.database.nodes() else {
            throw CommandError("only a PostgreSQL database has nodes, not \(settings.database)")
        }
        Output.line(json ? Self.document(nodes) : Self.table(nodes, isServed: isServed))
    }

    static func table(_ nodes: [NodeLook], isServed: Bool) -> String {
        guard !nodes.isEmpty else {
            return isServed ? "one server without `nodes` in its configuration" : "no server runs"
        }
        let rows = nodes.map { [$0.address, role($0), $0.version, time($0.age), "\(time($0.silence)) ago"] }
        return String(Columns.text(["ADDRESS", "ROLE", "VERSION", "UP", "HEARD OF"], rows).dropLast())
    }

    private static func document(_ nodes: [NodeLook]) -> String {
        let list = nodes.map { node in
            JSONValue.object([
                "address": .string(node.address), "role": .string(role(node)), "version": .string(node.version),
                "upSeconds": .number(JSONNumber(Int(node.age / .seconds(1)))),
                "silentSeconds": .number(JSONNumber(Int(node.silence / .seconds(1)))),
            ])
        }
        return String(decoding: JSONValue.array(list).bytes, as: UTF8.self)
    }

    private static func role(_ node: NodeLook) -> String {
        node.isOwner ? "owner" : node.silence > NodeSettings.silence ? "gone" : "door"
    }

    private static func time(_ duration: Duration) -> String {
        let seconds = Int(duration / .seconds(1))
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
