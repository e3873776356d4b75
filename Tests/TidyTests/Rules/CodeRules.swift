/// A pattern that code in some places must not contain.
struct CodeRule: CustomStringConvertible, Sendable {
    let description: String
    let remedy: String
    private let pattern: String
    private let applies: @Sendable (Source) -> Bool

    init(
        _ description: String, _ remedy: String, _ pattern: String, where applies: @escaping @Sendable (Source) -> Bool
    ) {
        self.description = description
        self.remedy = remedy
        self.pattern = pattern
        self.applies = applies
    }

    /// Returns the findings in all sources that the rule applies to.
    func check(_ sources: [Source]) -> [Finding] {
        let pattern = Pattern(pattern)
        return sources.filter { $0.isSwift && applies($0) }.flatMap { source in
            pattern.matches(in: source.code).map {
                Finding(source.path, line: $0.line, "\(description) (`\($0.text)`)", remedy)
            }
        }
    }
}

extension CodeRule {
    private static let pureTargets = [
        "IsletBasics", "JSONText", "APNSModel", "LiveActivityCore", "LiveActivityRegistration",
    ]
    @Sendable private static func isPure(_ source: Source) -> Bool {
        pureTargets.contains { source.isUnder("Sources/\($0)") } || source.isUnder("Tools/Sources/SourceContract")
    }
    @Sendable private static func isProduct(_ source: Source) -> Bool {
        source.isUnder("Sources", "Examples", "Tools/Sources")
    }
    /// Returns `true` for sources that an app links.
    @Sendable private static func isInApps(_ source: Source) -> Bool {
        source.isUnder(
            "Sources/LiveActivityClient", "Sources/LiveActivityAttributes", "Sources/LiveActivityRegistration",
            "Sources/LiveActivityAPI", "Sources/JSONText", "Sources/IsletBasics")
    }
    /// Returns `true` for sources of libraries. Only the top level of a command or an app may start tasks and print.
    @Sendable private static func isLibrary(_ source: Source) -> Bool {
        isProduct(source) && !source.isUnder("Sources/islet", "Tools/Sources/islet-contract")
            && source.folders.allSatisfy { $0 != "Command" && $0 != "App" }
    }

    static let clock = CodeRule(
        "a clock is read in a pure target", "take the time as a parameter",
        #"\bDate\(|(?:\b[A-Z]\w*|[cC]lock|(?<![\w)\]?!>}]))\.now\b|\bclock_gettime\b|\bgettimeofday\b"#, where: isPure)
    static let dice = CodeRule(
        "chance in a pure target", "take the dice as a parameter",
        #"\.random(?:Element)?\(|\.shuffled\(|\.shuffle\(|\bSystemRandomNumberGenerator\b|\bUUID\("#, where: isPure)
    static let effects = CodeRule(
        "an effect in a pure target", "return an action, and let a shell perform it",
        #"\bprint\(|\bTask\b|\bimport\s+Foundation\w*|\bProcessInfo\b|\bFileManager\b|\bgetenv\("#, where: isPure)
    static let printing = CodeRule(
        "a library prints", "log with a constant message, or return the text",
        #"(?<![\w.])(?:debugPrint|print|dump)\("#,
        where: isLibrary)
    static let traps = CodeRule(
        "a trap that a peer may reach", "throw, return a typed outcome, or make the case impossible",
        #"\b(?:fatalError|preconditionFailure)\(|\btry!|\bas!"#, where: isProduct)
    static let strayTasks = CodeRule(
        "a task that nobody waits for", "make it a child of a task group, or part of a service's run()",
        #"\bTask\s*(?:<[^>\n]*>\s*)?(?:\(|\{)|\bTask\.(?:detached|immediate)\b"#, where: isLibrary)
    static let sleeps = CodeRule(
        "a test sleeps", "await the fact itself, or move an injected clock", #"(?<!func )\bu?sleep\("#,
        where: { $0.isUnder("Tests") })
    static let otherTests = CodeRule(
        "a test that is not Swift Testing's", "write it with @Test and #expect", #"\bimport\s+XCTest\b|\bXCTAssert\w*"#,
        where: { $0.isUnder("Tests") })

    /// Options of TCP count anew from 1 at their own level: `tcp_nodelay` would be `SO_DEBUG`, which only root may set.
    static let socketLevels = CodeRule(
        "an option of TCP at the level of sockets", "use tcpOption(…)", #"\bsocketOption\(\s*\.tcp_\w+"#,
        where: { $0.isUnder("Sources", "Examples", "Tests", "Benchmarks", "Tools/Sources") })

    /// APIs that need a reason. The library's privacy manifest names none of them.
    static let reasons = CodeRule(
        "an API for which Apple wants a reason", "do without it, or name the reason in PrivacyInfo.xcprivacy",
        #"\b(?:UserDefaults|systemUptime|mach_absolute_time|\w*[mM]odificationDate(?:Key)?|"#
            + #"creationDate(?:Key)?|volume(?:Available|Total)Capacity\w*|systemFreeSize|systemSize|activeInputModes|"#
            + #"[fl]?stat(?:at|v?fs)?(?=\()|f?getattrlist\w*)"#,
        where: isInApps)

    static let all: [CodeRule] = [
        clock, dice, effects, printing, traps, strayTasks, sleeps, otherTests, socketLevels, reasons,
    ]
}
