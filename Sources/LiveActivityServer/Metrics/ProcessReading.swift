import Foundation

/// The resources that the process uses, as reported by Linux.
struct ProcessReading: Sendable {
    let residentBytes: Int
    let cpuSeconds: Double
    let openFiles: Int

    /// Reads the current figures. Returns `nil` on systems without `/proc`.
    static func now() -> ProcessReading? {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        else { return nil }
        return ProcessReading(
            stat: stat, openFiles: files.count, ticksPerSecond: sysconf(Int32(_SC_CLK_TCK)),
            pageBytes: sysconf(Int32(_SC_PAGESIZE)))
    }

    /// - Parameter stat: The single line of `/proc/self/stat` (proc(5)).
    init?(stat: String, openFiles: Int, ticksPerSecond: Int, pageBytes: Int) {
        // The second field is the program's name in parentheses and may contain anything. The third field follows it.
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        guard fields.count > 21, let user = Int(fields[11]), let system = Int(fields[12]), let pages = Int(fields[21])
        else { return nil }
        residentBytes = pages * pageBytes
        cpuSeconds = Double(user + system) / Double(max(ticksPerSecond, 1))
        self.openFiles = openFiles
    }
}
