import Exploration
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `script/explore` builds and runs this.
@main
enum Explore {
    private struct Wrong: Error { let text: String }

    static func main() async {
        do {
            var words = Array(CommandLine.arguments.dropFirst())
            // One line, for programs.
            let isBrief = words.contains("--brief")
            words.removeAll { $0 == "--brief" }
            let roots = try roots(&words)
            exit(await run(roots, try limits(words), isBrief: isBrief))
        } catch {
            print((error as? Wrong)?.text ?? "\(error)")
            exit(64)
        }
    }

    private static func roots(_ words: inout [String]) throws -> [Situation.Root] {
        guard let place = words.firstIndex(of: "--focus") else { return Situation.Root.all }
        guard place + 1 < words.count, let focus = Situation.Focus(rawValue: words[place + 1]) else {
            let all = Situation.Focus.allCases.map(\.rawValue).joined(separator: ", ")
            throw Wrong(text: "--focus needs one of \(all)")
        }
        words.removeSubrange(place...place + 1)
        return Situation.Root.all.filter { $0.focus == focus }
    }

    private static func limits(_ words: [String]) throws -> Explorer.Limits {
        var limits = Explorer.Limits()
        limits.workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        var rest = words[...]
        while let word = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else {
                throw Wrong(text: "\(word) needs a number above 0: see script/explore --help")
            }
            switch word {
            case "--depth": limits.depth = value
            case "--situations": limits.situations = value
            case "--workers": limits.workers = value
            case "--kept": limits.kept = value
            case "--rest-one-in": limits.restOneIn = value
            default: throw Wrong(text: "unknown option \(word): see script/explore --help")
            }
        }
        return limits
    }

    private static func run(_ roots: [Situation.Root], _ limits: Explorer.Limits, isBrief: Bool) async -> Int32 {
        let clock = ContinuousClock()
        let began = clock.now
        var explorer = Explorer(roots: roots, limits: limits)
        let report = await explorer.search { depth, report in
            guard !isBrief else { return }
            let (new, all) = (report.layers.last ?? 0, report.situations)
            print("\(depth) events: \(new) situations, \(all) in all, after \(clock.now - began)")
            fflush(nil)
        }
        let shortest = report.failures.min { $0.events.count < $1.events.count }
        if isBrief {
            let words = shortest.map {
                "\($0.root.name) and \($0.events.count) events, rule \($0.violation.rule.title)"
            }
            print(words ?? "\(report.situations) situations are good")
            return shortest == nil ? 0 : 1
        }
        print("\(report.transitions) events played, \(report.rests) situations brought to rest")
        for line in report.cells.lines { print(line) }
        for stray in report.cells.strays.sorted() { print("the table says otherwise: \(stray)") }
        guard let shortest else {
            print("every promise holds")
            return report.cells.strays.isEmpty ? 0 : 1
        }
        let rules = Dictionary(grouping: report.failures) { $0.violation.rule.title }
        for (rule, all) in rules.sorted(by: { $0.key < $1.key }) { print("\(rule): \(all.count) histories") }
        for line in shortest.lines { print(line) }
        return 1
    }
}
