import APNSModel
import Testing

@testable import APNSClient

/// A connection that may have died unnoticed is probed before it gets a push.
@Suite struct StaleConnectionTests {
    @Test func `an idle connection is stale after its silence, and proved by any byte`() throws {
        var peer = try Peer.accepting()
        peer.tick(9.9)
        #expect(!peer.machine.isStale(at: peer.now))
        peer.tick(0.2)
        #expect(peer.machine.isStale(at: peer.now))
        peer.machine.prove(at: peer.now)
        peer.tick(0)
        let ping = try #require(peer.frames(6).first)
        #expect(peer.capacity == 0, "nothing is risked meanwhile")
        peer.send(Peer.frame(6, flags: 1, 0, ping.payload))
        #expect(peer.capacity == 1_000)
        #expect(!peer.machine.isStale(at: peer.now))
    }

    @Test func `one that does not answer is given up before a push was lost on it`() throws {
        var peer = try Peer.accepting()
        peer.tick(20)
        peer.machine.prove(at: peer.now)
        peer.tick(2.9)
        #expect(peer.machine.phase == .open)
        peer.tick(0.2)
        #expect(peer.machine.phase == .closed(.keepAliveTimedOut))
        #expect(peer.settled.isEmpty)
    }

    @Test func `streams that are open keep a connection from being stale`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.tick(12)
        #expect(!peer.machine.isStale(at: peer.now))
    }

    @Test func `no further push is risked while a PING waits for its answer`() throws {
        var peer = try Peer.accepting()
        peer.open(try Make.push())
        peer.tick(15)
        let ping = try #require(peer.frames(6).first)
        #expect(peer.capacity > 0, "it may well answer in time")
        peer.tick(1)
        #expect(peer.capacity == 0)
        #expect(peer.machine.allowance(at: peer.now).isHeld)
        peer.send(Peer.frame(6, flags: 1, 0, ping.payload))
        #expect(peer.capacity > 0)
    }

    @Test func `to prove it twice asks once`() throws {
        var peer = try Peer.accepting()
        peer.tick(20)
        peer.machine.prove(at: peer.now)
        peer.machine.prove(at: peer.now)
        peer.tick(0)
        #expect(peer.frames(6).count == 1)
    }
}
