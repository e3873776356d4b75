import APNSClient
import APNSModel
import APNSSimulator
import Foundation

/// Sends a million pushes through `APNSClient` to a simulator with constant faults and compares the accounts of both
/// sides. `script/soak client` builds and runs it. Exits with 1 when an account does not match.
@main struct ClientSoak {
    private static let parts = 20
    /// Largest growth of resident memory, in MB, from a fifth of the pushes to the end.
    private static let allowedGrowth = 16.0

    static func main() async throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        let stage = try Stage(members: count)
        let problems = try await withThrowingTaskGroup(of: [String]?.self) { group in
            group.addTask {
                try? await stage.simulator.run()
                return nil
            }
            group.addTask { try await play(stage, count) }
            defer { group.cancelAll() }
            while let ended = try await group.next() { if let ended { return ended } }
            return ["the simulator ended by itself"]
        }
        for problem in problems { print("PROBLEM: \(problem)") }
        exit(problems.isEmpty ? 0 : 1)
    }

    private static func play(_ stage: Stage, _ count: Int) async throws -> [String] {
        let addresses = try await stage.simulator.started
        guard let port = addresses.ports[.sandbox] else { throw SoakProblem("the simulator has no port") }
        let tokens = CrowdTokens(crowd: Stage.crowd, kind: .update)
        let sender = try Sender(
            port: port, authority: addresses.caPEM, keyID: stage.keyID, teamID: stage.teamID, p8: stage.p8,
            app: Stage.app, count: count, token: { tokens.hex(of: $0) })
        var resident: [Double] = []
        let begin = ContinuousClock.now
        for part in 0..<parts {
            try await sender.run(count * part / parts..<count * (part + 1) / parts)
            resident.append(residentMegabytes())
            let seconds = (ContinuousClock.now - begin) / .seconds(1)
            print(
                String(
                    format: "%8d pushes  %6.1f s  %6.1f MB resident  %d connections", count * (part + 1) / parts,
                    seconds, resident[part], sender.client.status.first?.connections.count ?? 0))
        }
        await sender.client.shutdown(within: .seconds(5))
        var problems = try account(stage, sender, count)
        if let last = resident.last, last > resident[parts / 5] + allowedGrowth {
            problems.append("memory grew from \(resident[parts / 5]) to \(last) MB")
        }
        return problems
    }

    /// Compares the client's results with the pushes that the simulator's members received.
    private static func account(_ stage: Stage, _ sender: Sender, _ count: Int) throws -> [String] {
        var problems: [String] = []
        var totals: [Sender.Account: Int] = [:]
        var arrivedUnknown = 0
        for (number, said) in sender.all.enumerated() {
            totals[said, default: 0] += 1
            let got = try stage.simulator.crowdMember(number, of: Stage.crowd).accepted
            switch said {
            case .accepted where got == 1, .refused where got == 0: break
            case .unknown where got <= 1: arrivedUnknown += got
            default: problems.append("push \(number): the client said \(said), the phone got it \(got) times")
            }
        }
        print(
            "accepted \(totals[.accepted, default: 0]), refused by order \(totals[.refused, default: 0]), unknown fate "
                + "\(totals[.unknown, default: 0]) of which \(arrivedUnknown) had arrived")
        for (failure, times) in sender.allFailures.sorted(by: { $0.key < $1.key }) {
            print("\(times) times \(failure)")
            if !failure.hasPrefix(PushFailure.Code.unknownFate.rawValue) {
                problems.append("\(times) times a false failure: \(failure)")
            }
        }
        let (lost, most) = (
            totals[.unknown, default: 0], Stage.unknownFates(of: count, outstanding: Sender.outstanding)
        )
        if lost > most { problems.append("\(lost) fates are unknown; the faults explain \(most)") }
        return Array(problems.prefix(50))
    }

    private static func residentMegabytes() -> Double {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1e6
    }
}
