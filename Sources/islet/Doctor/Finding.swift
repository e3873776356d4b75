/// One thing that was checked.
struct Finding: Equatable {
    enum Check: String, CaseIterable {
        case configuration, database, contract, key, certificate, clock, name, connection, push, people, provider,
            webhook
    }

    enum Outcome: String, CaseIterable {
        case ok, warning, failed, skipped
    }

    let id: ID
    /// In a line.
    let detail: String
    /// What to do; `nil` when there is nothing to do.
    let fix: String?

    /// - Parameter fix: Where more can be said than of the finding in general.
    init(_ id: ID, _ detail: String, fix: String? = nil) {
        self.id = id
        self.detail = detail
        self.fix = fix ?? id.entry.fix
    }

    var check: Check { id.entry.check }
    var outcome: Outcome { id.entry.outcome }
}

extension Finding.ID {
    /// What a finding says in general: a row of the table in docs/operating.md.
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

    /// The table of docs/operating.md.
    static var table: String {
        "| id | outcome | what it says | what to do |\n|---|---|---|---|\n"
            + allCases.map { id in
                let entry = id.entry
                return "| `\(id.rawValue)` | \(entry.outcome.rawValue) | \(entry.meaning) | \(entry.fix ?? "–") |\n"
            }.joined()
    }
}
