import APNSModel
import TestSupport
import Testing

@testable import LiveActivityDelivery

@Suite(.timeLimit(.minutes(1)))
struct SignalTests {
    private static func time(_ seconds: Int64) -> UnixTime { UnixTime(seconds: seconds) }

    /// A task waits until the time 100 s, and the signal is raised at the time `now`.
    static let raises: [(for: Int64, now: Int64, wakes: Bool)] = [
        (99, 50, true), (100, 50, false), (101, 50, false),
        // What is due now, also with a clock that was set back or forward.
        (50, 50, true), (20, 20, true), (200, 200, true),
        // The clock was set beyond the time at which the task would look.
        (201, 200, true), (101, 100, true),
    ]

    @Test(arguments: raises.indices, [true, false])
    func `a raise for a time wakes who looks later by itself`(index: Int, isBefore: Bool) async {
        let raise = Self.raises[index]
        // Without a waiter nothing can have been missed: a look is to come.
        guard !isBefore || raise.now < 100 else { return }
        let (signal, clock) = (Signal(), SteppedClock())
        if isBefore { signal.raise(for: Self.time(raise.for), at: Self.time(raise.now)) }
        let ended = await withTaskGroup(of: Duration.self) { group in
            group.addTask {
                await signal.wait(for: .seconds(50), on: clock, until: Self.time(100))
                return clock.now.offset
            }
            if !isBefore {
                while !signal.isAwaited { await Task.yield() }
                signal.raise(for: Self.time(raise.for), at: Self.time(raise.now))
            }
            if !raise.wakes {
                // Gives a task that was woken by mistake the time to end.
                for _ in 0..<2_000 { await Task.yield() }
                await clock.advanceToSleeper(.seconds(50))
            }
            return await group.next()
        }
        #expect(ended == (raise.wakes ? .zero : .seconds(50)))
    }

    @Test func `a raise is kept for the next who waits, once`() async {
        let (signal, clock) = (Signal(), SteppedClock())
        signal.raise(for: Self.time(30), at: Self.time(10))
        signal.raise(for: Self.time(20), at: Self.time(10))
        signal.raise(for: Self.time(40), at: Self.time(10))
        await signal.wait(for: .seconds(50), on: clock, until: Self.time(21))
        #expect(clock.now.offset == .zero)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await signal.wait(for: .seconds(50), on: clock, until: Self.time(21)) }
            await clock.advanceToSleeper(.seconds(50))
        }
        #expect(clock.now.offset == .seconds(50))
    }

    @Test func `stopping and cancellation end a wait until any time`() async {
        for ends in [{ (signal: Signal, _: Task<Void, Never>) in signal.stop() }, { _, task in task.cancel() }] {
            let signal = Signal()
            let task = Task { await signal.wait(until: Self.time(1)) }
            while !signal.isAwaited { await Task.yield() }
            ends(signal, task)
            await task.value
        }
    }
}
