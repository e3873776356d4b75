import Foundation

/// Time that this disk takes to make a page durable, which is the least that a commit waits for.
struct SyncProbe: Sendable {
    static let samples = 200
    private static let pageBytes = 4096

    let medianMilliseconds: Double
    let p99Milliseconds: Double

    /// Writes over the pages of a file in the folder, with a sync after each write, and removes the file.
    ///
    /// The pages exist before the measurement, as in a write-ahead log that is reused, because a growing file costs
    /// more.
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
