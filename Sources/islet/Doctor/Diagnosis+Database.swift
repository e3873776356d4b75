import EmbeddedIslet
import LiveActivityStorage
import StorageSQL
import StorageSQLite

extension Diagnosis {
    static func database(_ facts: DoctorFacts.DatabaseFacts) -> [Finding] {
        switch facts.look {
        case .file(let look): file(facts.path, look)
        case .server(let look): server(facts.path, look, needsStandby: facts.needsStandby)
        }
    }

    private static func server(_ place: String, _ look: DatabaseServerLook, needsStandby: Bool) -> [Finding] {
        if let problem = look.problem { return [Finding(.databaseServer, "\(place): \(problem)")] }
        var findings: [Finding] = []
        if abs(look.clockAhead / .milliseconds(1)) > clockTolerance / .milliseconds(1) {
            let seconds = Int((look.clockAhead / .seconds(1)).rounded())
            let side = seconds > 0 ? "ahead of" : "behind"
            findings.append(Finding(.databaseClock, "\(place): its clock is \(abs(seconds)) s \(side) this machine's"))
        }
        if !look.unsafeSettings.isEmpty {
            let settings = look.unsafeSettings.map { "`\($0)`" }.joined(separator: " and ")
            findings.append(Finding(.databaseUnsafe, "\(place): \(settings) is off"))
        }
        if look.standby == .none, needsStandby {
            findings.append(Finding(.databaseNoStandby, "\(place): its `synchronous_standby_names` is empty"))
        } else if look.standby == .away {
            findings.append(Finding(.databaseStandbyAway, "\(place): it waits for more standbys than are connected"))
        }
        if look.roundTrip > largeRoundTrip {
            let milliseconds = Int(look.roundTrip / .milliseconds(1))
            findings.append(Finding(.databaseSlow, "\(place): it answers after \(milliseconds) ms"))
        }
        if let time = look.timeSinceRestore, time < recentRestore {
            findings.append(
                Finding(.databaseRestored, "\(place): \(Int(time / .seconds(60))) minutes ago it counted as restored"))
        }
        if let problem = look.tokenKeys {
            findings.append(Finding(.databaseTokenKeys, "\(place): \(problem)"))
        }
        guard findings.isEmpty else { return findings }
        let tables =
            look.hasTables
            ? "\(look.isServed ? "in use by a server" : "not in use"), \(Wording.bytes(look.bytes))"
            : "its tables are made at the first start of the server"
        let standby = look.standby == .connected ? ", with a standby" : ""
        return [Finding(.databaseServerGood, "\(place): \(look.version)\(standby), \(tables)")]
    }

    /// Time for which a restore is of interest. Until then, a server has pushed or ended what it knew.
    private static let recentRestore = Duration.seconds(86_400)

    /// Maximum time for an answer to a question. A change takes some five.
    private static let largeRoundTrip = Duration.milliseconds(10)

    /// Maximum difference of clocks that servers with NTP have.
    private static let clockTolerance = Duration.seconds(2)

    private static func file(_ path: String, _ look: DatabaseInspection) -> [Finding] {
        var findings: [Finding] = []
        func add(_ id: Finding.ID, _ detail: String) { findings.append(Finding(id, "\(path): \(detail)")) }
        if !look.folderIsWritable {
            add(.databaseFolder, "its folder is missing or cannot be written by this user")
        }
        if let free = look.freeBytes, free < max(lowSpace, look.bytes) {
            add(
                free < noSpace ? .databaseDiskFull : .databaseDiskLow, "its disk has \(Wording.bytes(free)) free")
        }
        guard look.exists else {
            if findings.isEmpty {
                findings.append(Finding(.databaseAbsent, "\(path) is created at the first start of the server"))
            }
            return findings
        }
        trouble(look, add)
        if let problem = look.tokenKeys { add(.databaseTokenKeys, problem.description) }
        if let mode = look.mode, mode & 0o077 != 0 {
            add(.databaseMode, "other users can read or write it (mode \(Wording.mode(mode)))")
        }
        if look.logBytes > largeLog { add(.databaseLog, "its log (-wal) has \(Wording.bytes(look.logBytes))") }
        if findings.isEmpty { findings.append(Finding(.databaseGood, "\(path): \(words(look))")) }
        return findings
    }

    private static func trouble(_ look: DatabaseInspection, _ add: (Finding.ID, String) -> Void) {
        if let problem = look.problem { return add(.databaseUnreadable, problem) }
        if let mark = look.moved { return add(.databaseMoved, mark.description) }
        switch look.schema {
        case .current: break
        case .older: add(.databaseOlder, "it was written by an older version of islet")
        case .newer: add(.databaseNewer, "it was written by a newer version of islet")
        case .foreign: add(.databaseForeign, "it is not a database of islet")
        }
        if case .damaged(let detail) = look.integrity { add(.databaseDamaged, "it is damaged (\(detail))") }
    }

    private static func words(_ look: DatabaseInspection) -> String {
        let integrity =
            switch look.integrity {
            case .sound: "sound"
            case .damaged: "damaged"
            case .notChecked:
                "not fully checked (over \(Wording.bytes(DatabaseInspection.largestCheck)); a backup is "
                    + "checked in full)"
            }
        let free = look.freeBytes.map { ", \(Wording.bytes($0)) free" } ?? ""
        return "\(integrity), of this version, \(look.isServed ? "in use by a server" : "not in use"), "
            + "\(Wording.bytes(look.bytes)), log \(Wording.bytes(look.logBytes))\(free)"
    }
}
