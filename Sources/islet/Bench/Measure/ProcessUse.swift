import Foundation

/// Resources that a process has used since its start, from Linux's /proc (proc(5)).
struct ProcessUse: Sendable, Equatable {
    /// CPU time of all threads in seconds, in user and kernel mode. Linux counts it in ticks of 10 ms.
    var cpuSeconds: Double
    var residentBytes: Int
    /// Maximum resident size in bytes.
    var peakBytes: Int
    /// Bytes that the process caused to be written to a disk; `nil` if the kernel does not report it.
    var writtenBytes: Int?

    /// Parses the contents of `stat`, `status` and `io`.
    ///
    /// - Throws: `CommandError` if one of them does not have the form of proc(5).
    init(stat: String, status: String, io: String?, ticksPerSecond: Double) throws(CommandError) {
        // The second field is the name in parentheses, which may itself contain blanks and parentheses.
        guard let nameEnd = stat.lastIndex(of: ")") else { throw CommandError("/proc/PID/stat has no name") }
        let fields = stat[stat.index(after: nameEnd)...].split(separator: " ")
        // Fields 14 and 15 are utime and stime. The first field after the name is field 3.
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
            throw CommandError("/proc/PID/stat has no times")
        }
        cpuSeconds = (user + system) / ticksPerSecond
        guard let resident = Self.number(after: "VmRSS:", in: status),
            let peak = Self.number(after: "VmHWM:", in: status)
        else { throw CommandError("/proc/PID/status has no VmRSS and VmHWM") }
        residentBytes = resident * 1024
        peakBytes = peak * 1024
        writtenBytes = io.flatMap { Self.number(after: "write_bytes:", in: $0) }
    }

    /// Reads the figures of a running process.
    ///
    /// - Throws: An error if there is no such process, or no /proc because the system is not Linux.
    init(of process: Int32) throws {
        let folder = "/proc/\(process)/"
        guard let stat = Self.text(folder + "stat"), let status = Self.text(folder + "status") else {
            throw CommandError("\(folder) cannot be read: the process has ended, or this system is not Linux")
        }
        try self.init(
            stat: stat, status: status, io: Self.text(folder + "io"),
            ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    private static func text(_ path: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    private static func number(after name: String, in text: String) -> Int? {
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).split(whereSeparator: { $0 == " " || $0 == "\t" }).first.flatMap {
                Int($0)
            }
        }
        return nil
    }
}
