import APNSModel
import NIOCore
import Synchronization
import Testing

@testable import LiveActivityServer

/// Limits of one remote address.
@Suite(.timeLimit(.minutes(2))) struct AddressTests {
    private static let question = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func `one address has so many connections, and a place is free when one of them is closed`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.connectionsPerAddress = 2
        try await withListeningServer(limits: limits) { _, address in
            @Sendable func isServed() async throws -> Bool {
                let answer = Mutex("")
                try await RawConnection.open(address) { connection in
                    await connection.send(Self.question)
                    let text = await connection.heard(until: "\r\n")
                    answer.withLock { $0 = text }
                }
                return answer.withLock { $0.hasPrefix("HTTP/1.1 200 ") }
            }
            try await RawConnection.open(address) { first in
                await first.send(Self.question)
                #expect(await first.heard(until: "}").contains("200 OK"))
                try await RawConnection.open(address) { second in
                    await second.send(Self.question)
                    #expect(await second.heard(until: "}").contains("200 OK"))
                    let isThirdServed = try await isServed()
                    #expect(!isThirdServed)
                    // Existing connections are not affected.
                    await first.send(Self.question)
                    #expect(await first.text(until: "}").contains("200 OK"))
                }
            }
            // The server sees the end of a connection a moment after its client.
            while try await !isServed() {}
        }
    }

    @Test func `who signs in again and again from one address is told to wait`() async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.signInsPerSecond = 2
        try await withListeningServer(limits: limits) { fixture, address in
            let body = #"{"key":"islet_x"}"#
            @Sendable func status() async throws -> String {
                let answer = Mutex("")
                try await RawConnection.open(address) { connection in
                    await connection.send(
                        "POST /console/session HTTP/1.1\r\nHost: \(address.host):\(address.port)\r\n"
                            + "Origin: http://\(address.host):\(address.port)\r\n"
                            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                    let text = await connection.heard(until: "\r\n")
                    answer.withLock { $0 = String(text.prefix(12).suffix(3)) }
                }
                return answer.withLock(\.self)
            }
            var statuses: [String] = []
            for _ in 0..<5 { statuses.append(try await status()) }
            fixture.clock.advance(.seconds(1))
            statuses.append(try await status())
            #expect(statuses == ["401", "401", "401", "401", "429", "401"])
        }
    }

    @Test func `each address has an allowance of its own to join without a credential`() {
        var limits = LiveActivityServer.Limits.unhurried
        limits.joinsPerMinutePerAddress = 1
        let admission = Admission(limits)
        func isTaken(_ address: String, afterSeconds seconds: Int64 = 0) -> Bool {
            let now = MonotonicTime(nanoseconds: seconds * 1_000_000_000)
            do throws(Problem) {
                try admission.countJoin(from: address, at: now)
                return true
            } catch {
                #expect(error.code == .rateLimited && error.expected == "at most 1 calls a minute")
                return false
            }
        }
        #expect([isTaken("c0.0.2.7"), isTaken("c0.0.2.7"), isTaken("c0.0.2.7")] == [true, true, false])
        // A few others may share its place in the table.
        #expect((0..<100).filter { isTaken("c0.0.3.\($0)") }.count >= 95)
        #expect(!isTaken("c0.0.2.7", afterSeconds: 59))
        #expect(isTaken("c0.0.2.7", afterSeconds: 60))
    }

    @Test(arguments: [
        ("192.0.2.7", "c0.0.2.7"), ("2001:db8:1:2::3", "20.1.d.b8.0.1.0.2"),
        ("2001:db8:1:2:ffff::", "20.1.d.b8.0.1.0.2"), ("::1", "0.0.0.0.0.0.0.0"),
        // IPv4 addresses as a listener for both families has them.
        ("::ffff:192.0.2.7", "c0.0.2.7"), ("::ffff:192.0.2.8", "c0.0.2.8"),
        // Addresses that only resemble them.
        ("::fffe:192.0.2.7", "0.0.0.0.0.0.0.0"), ("::1:ffff:192.0.2.7", "0.0.0.0.0.0.0.0"),
    ])
    func `an address of IPv6 stands for its network, and one of IPv4 for itself`(
        address: String, label: String
    ) throws {
        #expect(AddressRoom.label(try SocketAddress(ipAddress: address, port: 1)) == label)
        #expect(AddressRoom.label(nil) == "")
    }

    @Test func `addresses of IPv4 that are written as IPv6 have room each`() throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.connectionsPerAddress = 1
        let room = AddressRoom(limits)
        func place(_ address: String) throws -> Places.Place? {
            room.take(for: try SocketAddress(ipAddress: address, port: 1))
        }
        let first = try place("::ffff:192.0.2.7")
        let (same, plain) = (try place("::ffff:192.0.2.7"), try place("192.0.2.7"))
        let other = try place("::ffff:192.0.2.8")
        #expect(first != nil && same == nil && plain == nil && other != nil)
    }
}
