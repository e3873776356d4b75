import APNSModel
import Synchronization
import Testing

@testable import EmbeddedIslet

/// The server's clock on a machine that sleeps or stalls.
struct ReferenceClockTests {
    private struct Clocks {
        var wall = UnixTime(seconds: 1_790_000_000)
        var elapsed = MonotonicTime(nanoseconds: 9_000_000_000)
    }

    private final class Machine: Sendable {
        let clocks = Mutex(Clocks())

        var wall: UnixTime { clocks.withLock(\.wall) }

        func pass(_ time: Duration) {
            clocks.withLock { clocks in
                clocks.wall = clocks.wall + time
                clocks.elapsed = clocks.elapsed + time
            }
        }

        func makeClock() -> ReferenceClock {
            ReferenceClock(
                wall: { self.clocks.withLock(\.wall) }, elapsed: { self.clocks.withLock(\.elapsed) })
        }
    }

    @Test func `a machine that has slept goes by its clock, which is right, before APNs has answered again`() {
        let machine = Machine()
        let clock = machine.makeClock()
        clock.learn(machine.wall)
        machine.pass(.seconds(7200))
        #expect(clock.time.wall() == machine.wall)
        #expect(clock.time.monotonic() == MonotonicTime(nanoseconds: 7_209_000_000_000))
        #expect(!clock.doubts())
    }

    @Test func `where the machine's clock jumps APNs is asked, and its answer is the time`() {
        let machine = Machine()
        let clock = machine.makeClock()
        clock.learn(machine.wall)
        let paused = machine.wall + .seconds(7200)
        machine.clocks.withLock { $0.wall = paused }
        #expect(clock.time.wall() < paused)
        #expect(clock.doubts())
        clock.learn(paused)
        #expect(clock.time.wall() == paused)
        #expect(!clock.doubts())
    }
}
