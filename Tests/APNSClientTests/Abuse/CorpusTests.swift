import Foundation
import IsletBasics
import Testing

/// Inputs that the coverage-guided fuzzer kept, and every script that once broke something. `script/fuzz` adds to the
/// folder.
@Suite struct CorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Corpus")

    @Test func `every kept script plays without a problem`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
            .filter { !$0.hasPrefix(".") }
        #expect(names.count >= 20, "the corpus is missing")
        for name in names {
            let script = try Data(contentsOf: Self.folder.appendingPathComponent(name))
            #expect(script.count <= ConnectionTrial.maximumBytes, "\(name)")
            let problems = try ConnectionTrial.problems(of: Array(script))
            #expect(problems.isEmpty, "\(name)")
        }
    }

    @Test(arguments: 0..<32)
    func `no script of random bytes breaks the connection`(block: UInt64) throws {
        for seed in block * 128..<(block + 1) * 128 {
            var dice = SplitMix64(seed: seed)
            let length = Int.random(in: 1...300, using: &dice)
            let script = (0..<length).map { _ in UInt8.random(in: 0...255, using: &dice) }
            let problems = try ConnectionTrial.problems(of: script)
            #expect(problems.isEmpty, "seed \(seed)")
        }
    }

    /// Kept scripts with a few bytes changed, moved or spliced. They explore the neighborhood of interesting scripts.
    @Test(arguments: 0..<32)
    func `no script near a kept one breaks the connection`(block: UInt64) throws {
        let scripts = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
            .filter { !$0.hasPrefix(".") }
            .map { Array(try Data(contentsOf: Self.folder.appendingPathComponent($0))) }
        for seed in block * 64..<(block + 1) * 64 {
            var dice = SplitMix64(seed: seed)
            guard var script = scripts.randomElement(using: &dice), !script.isEmpty else { continue }
            for _ in 0..<Int.random(in: 1...6, using: &dice) {
                let place = Int.random(in: 0..<script.count, using: &dice)
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: script[place] = UInt8.random(in: 0...255, using: &dice)
                case 1: script[place] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
                case 2: script.insert(UInt8.random(in: 0...255, using: &dice), at: place)
                default:
                    let other = scripts.randomElement(using: &dice) ?? []
                    script += other.prefix(Int.random(in: 0...other.count, using: &dice))
                }
            }
            let problems = try ConnectionTrial.problems(of: script)
            #expect(problems.isEmpty, "seed \(seed)")
        }
    }
}
