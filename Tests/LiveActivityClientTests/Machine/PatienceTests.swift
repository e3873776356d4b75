import LiveActivityRegistration
import Testing

/// A call that never ends.
struct PatienceTests {
    @Test func `a call that nobody answers is given up and said again, and its late answer counts for nothing`() {
        var bench = PhoneBench.ready()
        #expect(bench.machine.nextWake == 30_000)
        let first = bench.sent.count
        bench.wait(29_999)
        #expect(bench.sent.count == first)
        bench.wait(1)
        #expect(bench.notes.last?.code == .serverUnreachable)
        guard let hung = bench.sent.last else { return #expect(Bool(false)) }
        bench.wait(1_000)
        #expect(bench.sent.count == first + 1 && bench.sent.last?.path == hung.path)
        bench.run { $0.answered(hung.number, PhoneAnswer(status: 200), dice: 0.5, $1) }
        #expect(!bench.notes.contains { $0.code == .deviceConfirmed })
        bench.settle()
        #expect(bench.machine.isSettled && bench.machine.nextWake == nil)
    }
}
