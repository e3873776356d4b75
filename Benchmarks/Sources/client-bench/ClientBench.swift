import APNSClient
import APNSModel
import AllocationCounter
import Foundation

/// Measures one run of `APNSClient` against a running server and prints the figures as one line of JSON.
///
/// `Benchmarks/bench.py` starts it, beside the other clients.
@main struct ClientBench {
    static func main() async throws {
        let options = try Options(CommandLine.arguments.dropFirst())
        let load = try Load(options)
        // Connect and have the provider token accepted before anything is measured.
        try await load.run(min(2_000, options.pushes), rate: nil, latencies: nil)
        let before = Use()
        if options.countsAllocations { allocation_counter_start() }
        let latencies = Latencies(capacity: options.pushes)
        let begin = ContinuousClock.now
        try await load.run(options.pushes, rate: options.rate, latencies: latencies)
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let counts = options.countsAllocations ? allocation_counter_stop() : nil
        let after = Use()
        var line: [String] = [
            "\"pushes\": \(options.pushes)", "\"seconds\": \(seconds)", "\"cpu_s\": \(after.cpu - before.cpu)",
            "\"rss_mb\": \(after.peakMegabytes)",
            "\"connections\": \(load.client.status.first?.connections.count ?? 0)",
        ]
        if let (middle, late) = latencies.quantiles { line += ["\"p50_ms\": \(middle)", "\"p99_ms\": \(late)"] }
        if let counts {
            line.append("\"allocations\": \(Double(counts.allocations) / Double(max(1, options.pushes)))")
        }
        print("{\(line.joined(separator: ", "))}")
        await load.client.shutdown(within: .seconds(1))
    }
}

struct Problem: Error, CustomStringConvertible {
    let description: String
}

struct Options {
    enum Mode: String { case async, batch }

    var port = 0
    var authority = ""
    var key = ""
    var mode = Mode.batch
    var pushes = 100_000
    var outstanding = 500
    var connections = 1
    var rate: Int?
    var countsAllocations = false

    init(_ arguments: some Sequence<String>) throws {
        var rest = Array(arguments)[...]
        while let name = rest.popFirst() {
            if name == "--allocations" {
                countsAllocations = true
                continue
            }
            guard let value = rest.popFirst() else { throw Problem(description: "\(name) needs a value") }
            switch name {
            case "--port": port = Int(value) ?? 0
            case "--authority": authority = value
            case "--key": key = value
            case "--mode": mode = Mode(rawValue: value) ?? .batch
            case "--pushes": pushes = Int(value) ?? pushes
            case "--outstanding": outstanding = max(1, Int(value) ?? outstanding)
            case "--connections": connections = max(1, Int(value) ?? connections)
            case "--rate": rate = Int(value)
            default: throw Problem(description: "\(name) is not an option")
            }
        }
    }
}

/// Resources that this process has used.
struct Use {
    let cpu: Double
    let peakMegabytes: Double

    init() {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(RUSAGE_SELF.rawValue, &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        peakMegabytes = Double(usage.ru_maxrss) * 1_024 / 1e6
    }
}
