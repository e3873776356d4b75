import Simulation
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `script/simulate` builds and runs this.
@main
enum Simulate {
    private struct Wrong: Error { let text: String }

    private struct Options {
        var histories: UInt64 = 10_000
        var first: UInt64 = 1
        var minutes: Double?
        var seed: UInt64?
        var steps: [Int]?
        var calm: Set<Int> = []
        var workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        var shrinks = true
        /// `true` to play every history and count the failures.
        var goesOn = false
        /// `true` to print one line, for programs.
        var isBrief = false
        /// A folder for the timelines of failures and for the next seed.
        var keep: String?
    }

    static func main() async {
        do {
            exit(try await run(options(Array(CommandLine.arguments.dropFirst()))))
        } catch {
            print((error as? Wrong)?.text ?? "\(error)")
            exit(64)
        }
    }

    private static func options(_ words: [String]) throws -> Options {
        var options = Options()
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--whole" {
                options.shrinks = false
                continue
            }
            if word == "--all" {
                options.goesOn = true
                continue
            }
            if word == "--brief" {
                options.isBrief = true
                continue
            }
            guard let value = rest.popFirst() else { throw Wrong(text: "\(word) needs a value") }
            func number() throws -> UInt64 {
                guard let number = UInt64(value) else { throw Wrong(text: "\(word): \(value) is no number") }
                return number
            }
            func list() throws -> [Int] {
                if value == "none" { return [] }
                return try value.split(separator: ",").map { part in
                    guard let number = Int(part) else { throw Wrong(text: "\(word): \(part) is no number") }
                    return number
                }
            }
            switch word {
            case "--histories": options.histories = try number()
            case "--first": options.first = try number()
            case "--minutes": options.minutes = Double(value)
            case "--seed": options.seed = try number()
            case "--steps": options.steps = try list()
            case "--calm": options.calm = Set(try list())
            case "--keep": options.keep = value
            case "--workers": options.workers = Int(try number())
            default: throw Wrong(text: "unknown option \(word): see script/simulate --help")
            }
        }
        return options
    }

    private static func run(_ options: Options) async throws -> Int32 {
        if let seed = options.seed {
            var plan = Plan(seed: seed)
            plan.steps = options.steps ?? plan.steps
            plan.calm = options.calm
            let history = History(plan, keepsTimeline: true)
            return show(
                options.shrinks && options.steps == nil && !history.isGood ? Shrinking.shrink(history) : history)
        }
        let clock = ContinuousClock()
        let began = clock.now
        let limit = options.minutes.map { Duration.seconds($0 * 60) }
        let last = limit == nil ? options.first + options.histories : UInt64.max
        let report = await Campaign.run(seeds: options.first..<last, workers: options.workers, goesOn: options.goesOn) {
            limit.map { clock.now - began >= $0 } ?? false
        }
        let took = clock.now - began
        if options.isBrief {
            let rule = report.failures.keys.map(\.title).sorted().joined(separator: ", ")
            print(report.failing.map { "seed \($0.seed), rule \(rule)" } ?? "\(report.histories) histories are good")
            return report.failing == nil ? 0 : 1
        }
        print("\(report.histories) histories in \(took), \(report.counts)")
        for (rule, found) in report.failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where options.goesOn {
            let least = found.sorted().prefix(20).map(String.init).joined(separator: ", ")
            print("\(rule.title): \(found.count) histories, the first of them with the seeds \(least)")
        }
        if let folder = options.keep { try keep(report, in: folder) }
        guard let plan = report.failing else {
            print("all of them were good")
            return 0
        }
        print("seed \(plan.seed) fails; making it short …")
        return show(Shrinking.shrink(History(plan)))
    }

    /// Largest number of failing histories that are shortened, because each takes seconds.
    private static let mostKept = 50

    private static func keep(_ report: Campaign.Report, in folder: String) throws {
        try write("\(report.next)\n", to: folder + "/next-seed")
        for seed in report.failures.values.joined().sorted().prefix(mostKept) {
            let history = Shrinking.shrink(History(Plan(seed: seed)))
            let lines =
                history.timeline + history.violations.map { "VIOLATED \($0.rule.title): \($0.text)" }
                + ["again: \(history.plan.command)", ""]
            try write(lines.joined(separator: "\n"), to: folder + "/seed-\(seed).txt")
        }
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw Wrong(text: "\(path) cannot be written") }
        defer { fclose(file) }
        guard fputs(text, file) >= 0 else { throw Wrong(text: "\(path) cannot be written") }
    }

    private static func show(_ history: History) -> Int32 {
        for line in history.timeline { print(line) }
        print("")
        guard !history.isGood else {
            print("seed \(history.plan.seed): every rule holds")
            return 0
        }
        for violation in history.violations { print("VIOLATED \(violation.rule.title): \(violation.text)") }
        print("again: \(history.plan.command)")
        return 1
    }
}
