import Foundation

/// How long this disk takes to make a page durable: what a commit waits for at the least.
struct SyncProbe: Sendable {
    static let samples = 200
    private static let pageBytes = 4096

    let medianMilliseconds: Double
    let p99Milliseconds: Double

    /// Writes pages over those of a file of its own in the folder, each followed by a sync, and removes the file. They
    /// are there before, as those of a write-ahead log are once it has been around: what grows a file costs more.
    init(folder: URL) throws {
        let url = folder.appendingPathComponent("sync-probe")
        let descriptor = open(url.path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw CommandError("\(url.path) cannot be written") }
        defer {
            close(descriptor)
            unlink(url.path)
        }
        let page = [UInt8](repeating: 0x5A, count: Self.pageBytes)
        var times: [Double] = []
        for sample in -Self.samples..<Self.samples {
            if sample == 0 { lseek(descriptor, 0, SEEK_SET) }
            let begin = ContinuousClock.now
            guard write(descriptor, page, page.count) == page.count, sample < -1 || Self.sync(descriptor) == 0 else {
                throw CommandError("\(url.path) cannot be written")
            }
            if sample >= 0 { times.append((ContinuousClock.now - begin).inSeconds * 1000) }
        }
        let quantiles = Quantiles(times)
        medianMilliseconds = (quantiles[0.5] ?? 0).digits(3)
        p99Milliseconds = (quantiles[0.99] ?? 0).digits(3)
    }

    private static func sync(_ descriptor: Int32) -> Int32 {
        #if os(Linux)
            fdatasync(descriptor)
        #else
            fsync(descriptor)
        #endif
    }
}
