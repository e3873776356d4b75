import ArgumentParser
import JSONText
import LiveActivityAPI
import LiveActivityCore

/// The `islet activities` command, which lists the activities of a running server.
struct Activities: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the activities of a running server.",
        discussion: """
            The newest activities come first. `islet watch ACTIVITY` follows one of them. The API key determines the \
            app.
            """)

    private static let page = 1000

    @OptionGroup var server: ServerOption
    @Option(help: "Only activities of this type.") var type: String?
    @Option(help: "Only activities in this phase: announced, active or ended.") var phase: ActivityRecord.Phase?
    @Option(help: "Only activities with this person in the audience.") var user: String?
    @Option(help: "Maximum number of activities, up to 100000.") var limit = 100
    @Flag(help: "Lists the oldest activities first.") var oldest = false
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard 1...100_000 ~= limit else { throw ValidationError("--limit is from 1 to 100000") }
    }

    func run() async throws {
        let caller = try server.caller()
        var rows: [ActivityList.Row] = []
        var after: String?
        repeat {
            let answer = try await server.get(path(after: after, limit: min(Self.page, limit - rows.count)), by: caller)
            let list = try answer.decode(ActivityList.self)
            rows += list.activities
            after = list.next
        } while after != nil && rows.count < limit
        let isMore = after != nil
        if json { return Output.line(try Self.json(rows, isMore: isMore)) }
        Output.text(Self.table(rows, now: .current))
        if isMore { Output.error("there are more: --limit") }
    }

    private func path(after: String?, limit: Int) -> String {
        let query = [
            ("limit", String(limit)), ("after", after), ("newest", oldest ? nil : "true"), ("type", type),
            ("phase", phase?.rawValue), ("user", user),
        ]
        return "/v1/activities?"
            + query.compactMap { name, value in value.map { "\(name)=\(JSONCaller.segment($0))" } }
            .joined(separator: "&")
    }

    static func table(_ rows: [ActivityList.Row], now: Instant) -> String {
        guard !rows.isEmpty else { return "no activities\n" }
        return Columns.text(
            ["ACTIVITY", "TYPE", "PHASE", "RUN", "REVISION", "PHONES", "CHANGED"],
            rows.map { row in
                [
                    row.activity, row.type, row.phase, String(row.run), String(row.revision),
                    row.phones?.grouped ?? "-", Wording.ago(row.updatedAt, now: now),
                ]
            })
    }

    private static func json(_ rows: [ActivityList.Row], isMore: Bool) throws -> String {
        JSONValue.object([
            "activities": .array(try rows.map { try JSONValue(encoding: $0) }), "more": .bool(isMore),
        ]).text
    }
}

extension ActivityRecord.Phase: ExpressibleByArgument {}
