import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct DifferentialTests {
    private static let values = 1_200
    private static let seed: UInt64 = 20_261_121

    /// Compares the contract of each type with Foundation's own decoder.
    @Test(arguments: Subject.all)
    func `a contract takes what the Swift type decodes, and nothing else`(subject: Subject) throws {
        let contract = try subject.contract()
        let samples = try subject.samples.map { try JSONValue(parsing: $0) }
        var mutation = Mutation(seed: Self.seed)
        var accepted = 0
        for number in 0..<Self.values {
            let given = mutation.mutated(mutation.dice.pick(samples))
            guard let object = given.object else { continue }
            let held = subject.decoded(given)
            let note = "\(subject.name) \(number), seed \(Self.seed): \(given.text)"
            do throws(ContractViolation) {
                let sent = try contract.encodedState(object, from: .given)
                accepted += 1
                compare(sent, held, subject, contract, note)
            } catch {
                #expect(held == nil, "refused, but the type decodes it: \(error.problems), \(note)")
                #expect(!error.problems.isEmpty)
            }
        }
        #expect((Self.values / 10...Self.values * 9 / 10).contains(accepted), "\(accepted) were taken: \(subject.name)")
    }

    /// Compares the state sent with the reports of a phone that got it and of one that got the original value.
    private func compare(
        _ sent: JSONObject, _ held: JSONValue?, _ subject: Subject, _ contract: Contract, _ note: String
    ) {
        #expect(held != nil || subject.hasDates, "taken, but the type does not decode it: \(note)")
        let received = subject.decoded(.object(sent))
        #expect(received != nil, "what is sent does not decode: \(sent), from \(note)")
        for report in [received, held].compactMap({ $0?.object }) {
            #expect(
                contract.heldState(report) == contract.heldState(sent),
                "a phone would report \(report), not \(sent), from \(note)")
        }
        let again = try? contract.encodedState(sent, from: .stored)
        #expect(again == sent, "encoding it again changes it: \(note)")
    }
}
