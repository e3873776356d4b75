import LiveActivityStorage
import StorageSQLite

extension Diagnosis {
    static func database(_ facts: DoctorFacts.DatabaseFacts) -> [Finding] {
        let (path, look) = (facts.path, facts.inspection)
        var findings: [Finding] = []
        func add(_ outcome: Finding.Outcome, _ detail: String, _ advice: String) {
            findings.append(Finding(.database, outcome, "\(path): \(detail)", advice: advice))
        }
        if !look.folderIsWritable {
            add(
                .failed, "its folder is missing or cannot be written by this user",
                "make the folder, or run as the server's user: SQLite keeps its log beside the database")
        }
        space(look, add)
        guard look.exists else {
            if findings.isEmpty {
                findings.append(Finding(.database, .ok, "\(path) is made at the first start of the server"))
            }
            return findings
        }
        trouble(look, add)
        if let problem = look.tokenKeys {
            add(.failed, problem.description, "the server does not start like this: docs/operating.md, \"Token keys\"")
        }
        if let mode = look.mode, mode & 0o077 != 0 {
            add(
                .warning, "others may read or write it (mode \(Wording.mode(mode)))",
                "chmod 600: it holds what people are shown")
        }
        if look.logBytes > largeLog {
            add(
                .warning, "its log (-wal) has \(Wording.bytes(look.logBytes))",
                "some process reads for long and keeps it from shrinking: end it, or restart the server")
        }
        if findings.isEmpty { findings.append(Finding(.database, .ok, "\(path): \(words(look))")) }
        return findings
    }

    private static func space(_ look: DatabaseInspection, _ add: (Finding.Outcome, String, String) -> Void) {
        guard let free = look.freeBytes, free < max(lowSpace, look.bytes) else { return }
        add(
            free < noSpace ? .failed : .warning, "its disk has \(Wording.bytes(free)) left",
            "make room: without it no change is taken, and a backup needs as much as the database")
    }

    private static func trouble(_ look: DatabaseInspection, _ add: (Finding.Outcome, String, String) -> Void) {
        let restore = "stop the server and put a backup in its place: `islet restore FILE`"
        if let problem = look.problem {
            add(.failed, problem, "check its owner and mode; if it is damaged, " + restore)
            return
        }
        switch look.schema {
        case .current: break
        case .older: add(.warning, "it is of an older version", "the next start of the server brings it up to date")
        case .newer: add(.failed, "a newer version of islet wrote it", "run that version, or restore an older backup")
        case .foreign: add(.failed, "it is not a database of islet", "name another file as `storage`")
        }
        if case .damaged(let detail) = look.integrity { add(.failed, "it is damaged (\(detail))", restore) }
    }

    private static func words(_ look: DatabaseInspection) -> String {
        let integrity =
            switch look.integrity {
            case .sound: "sound"
            case .damaged: "damaged"
            case .notChecked: "not read through (over \(Wording.bytes(DatabaseInspection.largestCheck)); a backup is)"
            }
        let free = look.freeBytes.map { ", \(Wording.bytes($0)) free" } ?? ""
        return "\(integrity), of this version, \(look.isServed ? "served" : "not served now"), "
            + "\(Wording.bytes(look.bytes)), log \(Wording.bytes(look.logBytes))\(free)"
    }
}
