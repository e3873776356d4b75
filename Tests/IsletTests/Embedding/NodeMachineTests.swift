import NIOCore
import NIOPosix
import StoragePostgreSQL
import Testing

@testable import EmbeddedIslet

/// Tests of a node's role among several on one database.
struct NodeMachineTests {
    private static let me: Int64 = 1

    private static func node(_ number: Int64, owns: Bool = false, silence: Duration = .zero) -> NodeSighting {
        NodeSighting(
            number: number, address: "http://10.0.0.\(number):8090", version: "1", secret: "\(number)", age: .zero,
            silence: silence, isOwner: owns)
    }

    private static func seen(_ nodes: NodeSighting..., isServed: Bool? = nil) -> NodesSeen {
        NodesSeen(nodes: nodes, isServed: isServed ?? nodes.contains(where: \.isOwner))
    }

    /// A machine that owns the database.
    private static func owner() -> NodeMachine {
        var machine = NodeMachine(me: me)
        _ = machine.saw(seen(node(1)), before: .following)
        machine.opened()
        return machine
    }

    @Test func `a database without an owner is opened, once`() {
        var machine = NodeMachine(me: Self.me)
        let free = Self.seen(Self.node(1), Self.node(2))
        #expect(machine.saw(free, before: machine.state) == [.follow(nil), .open])
        #expect(machine.saw(free, before: machine.state) == [.follow(nil)])
        machine.opened()
        #expect(machine.state == .owning)
    }

    @Test func `an owner is followed, and one that was faster too`() {
        var machine = NodeMachine(me: Self.me)
        _ = machine.saw(Self.seen(Self.node(1)), before: .following)
        let other = Self.node(2, owns: true)
        #expect(machine.saw(Self.seen(Self.node(1), other), before: .opening) == [.follow(other)])
        machine.closed()
        #expect(machine.state == .following)
        #expect(machine.saw(Self.seen(Self.node(1), other), before: .following) == [.follow(other)])
    }

    @Test func `an owner whose silence grows beyond 5 s is expelled, and the database is opened when it is free`() {
        var machine = NodeMachine(me: Self.me)
        for silence in [5000, 5001, 6000] {
            let quiet = Self.node(2, owns: true, silence: .milliseconds(silence))
            #expect(machine.saw(Self.seen(quiet), before: .following) == [.follow(quiet)])
        }
        let silent = Self.node(2, owns: true, silence: .milliseconds(6001))
        #expect(machine.saw(Self.seen(silent), before: .following) == [.follow(silent), .expel(2)])
        #expect(
            machine.saw(Self.seen(Self.node(2, silence: .seconds(6))), before: .following) == [.follow(nil), .open])
    }

    @Test func `after a stall of the database an owner that is heard of again stays`() {
        var machine = NodeMachine(me: Self.me)
        let quiet = Self.node(2, owns: true, silence: .seconds(20))
        #expect(machine.saw(Self.seen(quiet), before: .following) == [.follow(quiet)])
        let heard = Self.node(2, owns: true)
        #expect(machine.saw(Self.seen(heard), before: .following) == [.follow(heard)])
        let again = Self.node(2, owns: true, silence: .seconds(30))
        #expect(machine.saw(Self.seen(again), before: .following) == [.follow(again)])
    }

    @Test func `a process that is no node is neither followed nor expelled`() {
        var machine = NodeMachine(me: Self.me)
        #expect(machine.saw(Self.seen(Self.node(1), isServed: true), before: .following) == [.follow(nil)])
    }

    @Test func `an owner without the lock resigns once, and follows when it has stopped`() {
        var machine = Self.owner()
        let mine = Self.seen(Self.node(1, owns: true))
        #expect(machine.saw(mine, before: .owning) == [.follow(nil)])
        let other = Self.node(2, owns: true)
        let lost = Self.seen(Self.node(1), other)
        #expect(machine.saw(lost, before: .owning) == [.resign])
        #expect(machine.saw(lost, before: .resigning) == [.follow(other)])
        machine.closed()
        #expect(machine.saw(lost, before: .following) == [.follow(other)])
    }

    @Test func `what was asked before the database was opened does not make the owner resign`() {
        var machine = Self.owner()
        #expect(machine.saw(Self.seen(Self.node(1)), before: .opening) == [.follow(nil)])
        #expect(machine.state == .owning)
    }

    @Test func `a process that stops follows the next owner, and opens nothing`() {
        var machine = Self.owner()
        machine.leave()
        machine.closed()
        #expect(machine.saw(Self.seen(Self.node(1)), before: .left) == [.follow(nil)])
        let other = Self.node(2, owns: true)
        #expect(machine.saw(Self.seen(other), before: .left) == [.follow(other)])
        #expect(machine.state == .left)
    }

    @Test func `an owner that no connection reaches for 3 s is out of reach, until one does`() throws {
        var reach = PeerReach(of: 1)
        let start = ContinuousClock.now
        let opened = PeerReach.Attempt.opened(try SocketAddress(ipAddress: "127.0.0.1", port: 1))
        func tried(_ attempt: PeerReach.Attempt, after seconds: Double) -> Bool {
            reach.tried(attempt, at: start + .seconds(seconds))
        }
        #expect(tried(.failed, after: 0) && tried(.failed, after: 2.9))
        #expect(!tried(.failed, after: 3) && !tried(.failed, after: 60))
        #expect(tried(opened, after: 61) && tried(.failed, after: 62) && tried(.failed, after: 64))
        // What this machine cannot try says nothing of the other.
        #expect(tried(opened, after: 65) && tried(.none, after: 66) && tried(.none, after: 99))
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `an attempt says whether the other machine answers`(host: String) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: host, port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let url = host.contains(":") ? "https://[\(host)]:\(port)" : "https://\(host):\(port)"
        guard case .opened(let address) = await PeerReach.attempt(url, known: nil) else {
            Issue.record("\(url) is not reached")
            return
        }
        #expect(address.port == port)
        try await listener.close()
        #expect(await PeerReach.attempt(url, known: address) == .failed)
        #expect(await PeerReach.attempt("https://no.such.name.invalid:\(port)", known: nil) == .none)
    }
}
