import Foundation

/// What a process has used since it began, as Linux tells it in /proc (proc(5)).
struct ProcessUse: Sendable, Equatable {
    /// In user and kernel mode, all threads. Linux counts it in ticks of 10 ms.
    var cpuSeconds: Double
    var residentBytes: Int
    /// The most that was ever resident.
    var peakBytes: Int
    /// What it made the kernel write to a disk, or nil where the kernel does not say.
    var writtenBytes: Int?

    /// - Parameters: The contents of `stat`, `status` and `io`.
    /// - Throws: When one of them does not look as proc(5) says.
    init(stat: String, status: String, io: String?, ticksPerSecond: Double) throws(CommandError) {
        // The second field is the name in parentheses, which may hold blanks and parentheses itself.
        guard let nameEnd = stat.lastIndex(of: ")") else { throw CommandError("/proc/PID/stat has no name") }
        let fields = stat[stat.index(after: nameEnd)...].split(separator: " ")
        // utime and stime, the fields 14 and 15, where the first behind the name is 3.
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

    /// - Throws: When there is no such process, or no /proc: on other systems than Linux.
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
