import Foundation
import JSONText
import LiveActivityAPI
import TestSupport
import Testing

@testable import islet

/// A server whose wall clock is wrong, or is set while it runs. APNs and the phones have the true time.
@Suite(.serialized) struct ClockJumpTests {
    @Test(arguments: [7200, -7200, 90_000, -90_000])
    func `a clock that jumps while the server runs neither loses a state nor sends one of another time`(
        _ seconds: Int
    ) async throws {
        try await withClock { stage, clock in
            try await stage.addKilledPhone()
            try await stage.setOrder("ready")
            try await stage.shows("ready")
            try await stage.isLive()
            try clock.set(seconds)
            try await stage.setOrder("picked_up")
            try await stage.shows("picked_up")
            try await stage.setOrder("preparing")
            try await stage.shows("preparing")
            try clock.set(0)
            try await stage.setOrder("delivering")
            try await stage.shows("delivering")
            try await checkTimestamps(stage)
        }
    }

    @Test(arguments: [600, -600, 7200, -7200])
    func `a server that starts with a wrong clock learns the time from APNs before it sends anything`(
        _ seconds: Int
    ) async throws {
        try await withClock(at: seconds) { stage, clock in
            try await stage.addKilledPhone()
            try await stage.setOrder("ready")
            try await stage.shows("ready")
            try await stage.isLive()
            try clock.set(0)
            try await stage.setOrder("delivering")
            try await stage.shows("delivering")
            try await checkTimestamps(stage)
        }
    }

    /// A day is more than the twelve hours after which an abandoned activity is ended.
    @Test func `a server that starts a day ahead ends and erases nothing by that`() async throws {
        try await withClock { stage, clock in
            try await stage.addKilledPhone()
            try await stage.setOrder("ready")
            try await stage.shows("ready")
            try await stage.isLive()
            try await stage.killServer()
            try clock.set(90_000)
            try await stage.startServer(within: .seconds(20))
            try await stage.setOrder("delivering")
            try await stage.shows("delivering")
            try await stage.isLive()
            try await checkTimestamps(stage)
        }
    }

    // MARK: - Parts

    private func withClock(at seconds: Int = 0, _ body: (DemoStage, WrongClock) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let clock = try await WrongClock(in: folder)
        try clock.set(seconds)
        try await withStage(clock.surroundings, in: folder) { stage in try await body(stage, clock) }
    }

    /// Checks that no push to a phone had a timestamp further from the true time than phones' clocks tolerate.
    private func checkTimestamps(_ stage: DemoStage) async throws {
        let pushes = try await stage.control.call(.GET, "/v1/pushes?limit=1000").object?["pushes"]?.array ?? []
        let now = Int(Date().timeIntervalSince1970)
        let timestamps = pushes.compactMap(\.object).filter { $0["phone"]?.string != nil }
            .compactMap { $0["timestamp"]?.int }
        #expect(
            timestamps.count > 1 && timestamps.allSatisfy { abs($0 - now) < 120 }, "\(timestamps.map { $0 - now })")
    }
}

/// A process's wall clock: the true time plus some seconds, which can be set while the process runs.
///
/// It is a small library that is loaded before the others. Existing ones also shift the time that timers wait for,
/// which setting a clock does not do.
private struct WrongClock {
    private let library: URL
    private let offset: URL

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        static volatile long *offset;
        __attribute__((constructor)) static void open_offset(void) {
            const char *path = getenv("WRONG_CLOCK");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *page = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
            if (page != MAP_FAILED) offset = page;
            close(file);
        }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = (int)syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && clock == CLOCK_REALTIME && offset) time->tv_sec += *offset;
            return result;
        }
        """

    init(in folder: URL) async throws {
        library = folder.appendingPathComponent("wrong-clock.so")
        offset = folder.appendingPathComponent("wrong-clock")
        let source = folder.appendingPathComponent("wrong-clock.c")
        try Data(Self.source.utf8).write(to: source)
        try Data(count: MemoryLayout<Int>.size).write(to: offset)
        let compiler = try ChildProcess(
            "compiler", executable: URL(fileURLWithPath: "/usr/bin/gcc"),
            arguments: ["-shared", "-fPIC", "-o", library.path, source.path],
            log: folder.appendingPathComponent("compiler.log"))
        guard try await compiler.exitCode(within: .seconds(30)) == 0 else { throw DemoFailure("gcc failed") }
    }

    var surroundings: DemoStage.Surroundings {
        DemoStage.Surroundings(environment: ["LD_PRELOAD": library.path, "WRONG_CLOCK": offset.path])
    }

    /// Written in place, because the process has mapped the page, not the file's name.
    func set(_ seconds: Int) throws {
        let file = try FileHandle(forWritingTo: offset)
        defer { try? file.close() }
        try file.write(contentsOf: withUnsafeBytes(of: seconds) { Data($0) })
    }
}
