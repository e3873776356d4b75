import APNSModel
import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

/// `GET /v1/events` over a real connection.
@Suite struct EventStreamTests {
    private static let limits: LiveActivityServer.Limits = {
        var limits = LiveActivityServer.Limits.unhurried
        limits.eventBeat = .milliseconds(50)
        limits.writeTimeout = .milliseconds(300)
        limits.eventStreamsOfApp = 3
        return limits
    }()

    /// Records events, all in one commit.
    private struct Tell: Command {
        let events: [EventRecord]
        var keys: [SnapshotKey] { [] }
        var rank: CommandRank { .write }

        func decide(_ draft: inout Draft) throws(Refusal) {
            for event in events { draft.tell(event) }
        }
    }

    private static func tell(
        _ fixture: Fixture, _ kinds: EventRecord.Kind..., of activity: ActivityNumber? = nil,
        app: BundleID = pizza.bundleID
    ) async throws {
        let events = kinds.map { kind in
            var event = EventRecord(kind, app: app, at: fixture.clock.now)
            event.activity = activity
            event.reason = .reported
            return event
        }
        _ = try await fixture.store.commit(Tell(events: events)).get()
    }

    private static func request(
        _ fixture: Fixture, _ query: String = "", after number: Int? = nil, key: APIKey? = nil
    ) -> String {
        let key = (key ?? fixture.keys[.read])?.text ?? ""
        let last = number.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        return "GET /v1/events\(query) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n\(last)\r\n"
    }

    /// Returns the numbers of the events in a text, in order, without those that only carry the cursor.
    private static func numbers(_ text: String) -> [Int] {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return zip(lines, lines.dropFirst()).compactMap { line, next in
            guard line.starts(with: "id: ".utf8), next.starts(with: "event:".utf8) else { return nil }
            return Int(Substring(line.dropFirst(4)))
        }
    }

    private static func isOver(_ text: String) -> Bool {
        text.hasSuffix("\r\n0\r\n\r\n") || text.hasSuffix("0\r\n\r\n")
    }

    // MARK: - Resuming

    @Test(.timeLimit(.minutes(10))) func `events come as they happen, and again after the last one that was read`()
        async throws
    {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            try await Self.tell(fixture, .started)
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture))
                let head = await connection.heard(until: "id: 1\n\n")
                #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("Content-Type: text/event-stream"))
                #expect(head.contains("retry: 3000\n") && Self.numbers(head).isEmpty, "what was before is not told")
                try await Self.tell(fixture, .held, .ended)
                let text = await connection.heard(until: "id: 3\nevent: ended\n")
                #expect(Self.numbers(text) == [2, 3])
            }
            try await Self.tell(fixture, .keyHalted)
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture, after: 1))
                #expect(Self.numbers(await connection.heard(until: "event: key-halted\n")) == [2, 3, 4])
                try await Self.tell(fixture, .parked)
                let text = await connection.heard(until: "event: parked\n")
                #expect(Self.numbers(text) == [2, 3, 4, 5])
                let data = try #require(text.firstMatch(of: /event: held\ndata: (\{[^\n]*\})\n\n/)).output.1
                let event = try JSONValue(parsing: String(data)).decode(Event.self)
                #expect(event.id == "2" && event.kind == .held && event.app == pizza.bundleID.text)
                #expect(event.reason == "reported" && event.activity == nil)
                #expect(event.timestamp.milliseconds == Int(fixture.clock.now.milliseconds))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a filter lets through what it names, and who waits knows how far it is`()
        async throws
    {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            for name in ["order-1", "order-2"] {
                let reply = try await fixture.put("/v1/activities/\(name)", #"{"type":"Order","state":{"step":1}}"#)
                #expect(reply.status == 200)
            }
            @Sendable func number(_ name: String) async throws -> ActivityNumber? {
                try await fixture.store.activity(pizza.bundleID, ActivityID(stored: name))?.record.number
            }
            for name in ["order-1", "order-2"] {
                try await Self.tell(fixture, .started, .held, .ended, of: try await number(name))
            }
            try await Self.tell(fixture, .ended)
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture, "?activity=order-2&kinds=ended,started", after: 0))
                let text = await connection.heard(until: ": beat\nid: 7\n")
                #expect(Self.numbers(text) == [4, 6])
                #expect(text.contains(#""activity":"order-2""#))
                // New events pass the same filter.
                try await Self.tell(fixture, .ended, of: try await number("order-1"))
                try await Self.tell(fixture, .held, .started, of: try await number("order-2"))
                #expect(Self.numbers(await connection.heard(until: "id: 10\nevent")) == [4, 6, 10])
            }
            for query in ["kinds=", "kinds=ended,", "kinds=Ended", "kinds=all", "activity=", "kind=ended"] {
                let reply = try await fixture.call(.get, "/v1/events?\(query)")
                #expect(reply.status == 400 && reply.code == "invalid_query", "\(query)")
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `an app is told of its own, whatever it asks for`() async throws {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            try await Self.tell(fixture, .started)
            try await Self.tell(fixture, .held, app: bakery.bundleID)
            try await Self.tell(fixture, .ended)
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture, after: 0))
                #expect(Self.numbers(await connection.heard(until: ": beat\nid: 3\n")) == [1, 3])
                try await Self.tell(fixture, .held, app: bakery.bundleID)
                let text = await connection.heard(until: ": beat\nid: 4\n")
                #expect(Self.numbers(text) == [1, 3] && !text.contains(bakery.bundleID.text))
            }
        }
    }

    @Test func `where what follows is erased, or is not known, the answer is 410 and says from where one may read`()
        async throws
    {
        try await withServer { fixture in
            func answer(_ number: String) async throws -> Reply {
                var headers = HTTPFields()
                if let name = HTTPField.Name("Last-Event-ID") { headers[name] = number }
                return try await fixture.call(
                    .get, "/v1/events", key: fixture.keys[.read]?.text, headers: headers)
            }
            for _ in 0..<4 { try await Self.tell(fixture, .started) }
            #expect(try await answer("0").status == 200)
            var limits = PruneLimits()
            limits.eventCount = 1
            while try await fixture.store.prune(limits, at: fixture.clock.now) {}
            for number in ["0", "2", "5", "9000000000"] {
                let reply = try await answer(number)
                #expect(reply.status == 410 && reply.code == "events_erased", "\(number)")
                #expect(reply["/expected"] == "3 to 4")
            }
            #expect(try await answer("3").status == 200)
            #expect(try await answer("4").status == 200)
            for number in ["", "x", "-1", "03", "1.0", "99999999999999999999"] {
                let reply = try await answer(number)
                #expect(reply.status == 400 && reply.code == "invalid_header", "\(number)")
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `streams that are open, and what they were given, are counted`() async throws {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture, "?kinds=ended"))
                _ = await connection.heard(until: "id: 0\n\n")
                try await Self.tell(fixture, .ended, .held, .ended)
                _ = await connection.heard(until: "id: 3\nevent")
                try await RawConnection.open(address) { metrics in
                    await metrics.send("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    let text = await metrics.heard()
                    #expect(text.contains("\nislet_event_streams 1\n"))
                    #expect(text.contains(#"islet_events_sent_total{app="com.acme.pizza"} 2"#))
                }
            }
        }
    }

    // MARK: - Limits

    @Test(.timeLimit(.minutes(10)))
    func `who does not read is cut, and finds the rest when it comes back`() async throws {
        // The events have at least 400 bytes each, more in total than the system buffers for a connection that nobody
        // reads.
        let (total, long) = (40_000, String(repeating: "o", count: 256))
        try await withListeningServer(limits: Self.limits) { fixture, address in
            let reply = try await fixture.put("/v1/activities/\(long)", #"{"type":"Order","state":{"step":1}}"#)
            #expect(reply.status == 200)
            let number = try await fixture.store.activity(pizza.bundleID, ActivityID(stored: long))?.record.number
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture))
                _ = await connection.heard(until: "id: 0\n\n")
                var event = EventRecord(.started, app: pizza.bundleID, at: fixture.clock.now)
                event.activity = number
                for _ in 0..<(total / 1000) {
                    _ = try await fixture.store.commit(Tell(events: Array(repeating: event, count: 1000))).get()
                }
                // The stream ends, or the connection does.
                let all = await connection.read { $0.suffix(7).elementsEqual("\r\n0\r\n\r\n".utf8) }
                let numbers = Self.numbers(String(decoding: all, as: UTF8.self))
                #expect(numbers == numbers.indices.map { $0 + 1 }, "in order, and none left out")
                #expect(numbers.count < total)
            }
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture, after: total - 5))
                #expect(Self.numbers(await connection.heard(until: "id: \(total)\nevent")).count == 5)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `an app has so many streams, and a place is free when its reader is gone`()
        async throws
    {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            try await RawConnection.open(address) { first in
                await first.send(Self.request(fixture))
                _ = await first.heard(until: "id: 0\n\n")
                try await RawConnection.open(address) { second in
                    await second.send(Self.request(fixture))
                    _ = await second.heard(until: "id: 0\n\n")
                    try await RawConnection.open(address) { third in
                        await third.send(Self.request(fixture))
                        _ = await third.heard(until: "id: 0\n\n")
                        try await RawConnection.open(address) { fourth in
                            await fourth.send(Self.request(fixture))
                            let answer = await fourth.heard(until: "overloaded")
                            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("Retry-After: 5"))
                        }
                    }
                }
                // The next heartbeat finds the others gone.
                let isTaken = Mutex(false)
                while !isTaken.withLock(\.self), !Task.isCancelled {
                    try await RawConnection.open(address) { again in
                        await again.send(Self.request(fixture))
                        let answer = await again.heard(until: "\r\n\r\n")
                        isTaken.withLock { $0 = answer.hasPrefix("HTTP/1.1 200 ") }
                    }
                }
                let isFree = isTaken.withLock { $0 }
                #expect(isFree)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a key that is revoked reads no further`() async throws {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            let key = try #require(fixture.keys[.read])
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture))
                _ = await connection.heard(until: ": beat\n")
                _ = try await fixture.store.revokeKey(key.id, at: fixture.clock.now)
                #expect(Self.isOver(await connection.heard(until: "\r\n0\r\n\r\n")))
            }
        }
    }

    /// Pruning may erase a revoked key's row between two checks of it.
    @Test(.timeLimit(.minutes(10))) func `a key whose row is erased reads no further`() async throws {
        try await withListeningServer(limits: Self.limits) { fixture, address in
            var dice = SplitMix64(seed: 9)
            let (key, made) = APIKey.make(app: pizza.bundleID, scope: .read, at: fixture.clock.now, using: &dice)
            var record = made
            record.expiresAt = fixture.clock.now + .seconds(60)
            try await fixture.store.insertKey(record)
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture, key: key))
                _ = await connection.heard(until: ": beat\n")
                // The key is erased without a revocation before it, which a check in between would find.
                _ = try await fixture.store.eraseKeys(overBefore: fixture.clock.now + .seconds(3600))
                #expect(Self.isOver(await connection.heard(until: "\r\n0\r\n\r\n")))
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a server that stops ends its streams`() async throws {
        try await withStoppingServer(limits: Self.limits) { fixture, address, stop in
            try await RawConnection.open(address) { connection in
                await connection.send(Self.request(fixture))
                _ = await connection.heard(until: "id: 0\n\n")
                await stop()
                #expect(Self.isOver(await connection.heard()))
            }
        }
    }
}
