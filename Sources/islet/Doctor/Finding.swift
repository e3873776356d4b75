/// The result of one check.
struct Finding: Equatable {
    enum Check: String, CaseIterable {
        // Checks of a server, in the order in which they are printed.
        case configuration, database, contract, key, certificate, clock, name, connection, push, channel, people,
            provider, webhook
        case project, activities, entitlement, background, widget, system, server

        /// Checks of `--project`.
        static let ofProjects: Set<Self> = [
            .project, .activities, .entitlement, .background, .widget, .system, .server,
        ]
    }

    /// The part of an app's project at fault.
    struct Place: Equatable {
        /// Path relative to the folder that was named.
        let file: String
        var line: Int?
        /// Key of a property list or of the build settings.
        var key: String?
    }

    enum Outcome: String, CaseIterable {
        case ok, warning, failed, skipped
    }

    let id: ID
    /// Description in one line.
    let detail: String
    /// Advice; `nil` if there is nothing to do.
    let fix: String?
    /// Place in the project; `nil` if the finding is not about a file of an app's project.
    let place: Place?

    /// Creates a finding.
    ///
    /// - Parameter fix: Advice that is more specific than the table's.
    init(_ id: ID, _ detail: String, fix: String? = nil, at place: Place? = nil) {
        self.id = id
        self.detail = detail
        self.place = place
        self.fix = fix ?? id.entry.fix
    }

    var check: Check { id.entry.check }
    var outcome: Outcome { id.entry.outcome }
}

extension Finding.ID {
    /// The general part of a finding: a row of the table in docs/operating/doctor.md.
    struct Entry {
        let check: Finding.Check
        let outcome: Finding.Outcome
        let meaning: String
        let fix: String?

        init(_ check: Finding.Check, _ outcome: Finding.Outcome, _ meaning: String, _ fix: String? = nil) {
            self.check = check
            self.outcome = outcome
            self.meaning = meaning
            self.fix = fix
        }
    }

    /// Table in Markdown, as in docs/operating/doctor.md.
    static var table: String {
        "| id | outcome | what it says | what to do |\n|---|---|---|---|\n"
            + allCases.map { id in
                let entry = id.entry
                return "| `\(id.rawValue)` | \(entry.outcome.rawValue) | \(entry.meaning) | \(entry.fix ?? "–") |\n"
            }.joined()
    }
}

extension Finding.Place: CustomStringConvertible {
    var description: String { file + (line.map { ":\($0)" } ?? "") + (key.map { " \($0)" } ?? "") }
}
