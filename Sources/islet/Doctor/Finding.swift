/// One thing that was checked.
struct Finding: Equatable {
    enum Check: String, CaseIterable {
        // Of a server, in the order in which they are told.
        case configuration, database, contract, key, certificate, clock, name, connection, push, people, provider,
            webhook
        case project, activities, entitlement, background, widget, system, server

        /// Those of `--project`.
        static let ofProjects: Set<Self> = [
            .project, .activities, .entitlement, .background, .widget, .system, .server,
        ]
    }

    /// The part of an app's project that is at fault.
    struct Place: Equatable {
        /// From the folder that was named.
        let file: String
        var line: Int?
        /// Of a property list, or of the build settings.
        var key: String?
    }

    enum Outcome: String, CaseIterable {
        case ok, warning, failed, skipped
    }

    let id: ID
    /// In a line.
    let detail: String
    /// What to do; `nil` when there is nothing to do.
    let fix: String?
    /// `nil` where it is about no file of an app's project.
    let place: Place?

    /// - Parameter fix: Where more can be said than of the finding in general.
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
    /// What a finding says in general: a row of the table in docs/operating/doctor.md.
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

    /// The table of docs/operating/doctor.md.
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
