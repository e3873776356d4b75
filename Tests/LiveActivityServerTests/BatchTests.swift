import APNSModel
import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage
import Testing

private func put(_ id: String, _ step: Int, _ more: String = "") -> String {
    #"{"method":"PUT","path":"/v1/activities/\#(id)","body":{"type":"Order","state":{"step":\#(step)}}\#(more)}"#
}

@Suite struct BatchTests {
    @Test func `each line is a write of its own, answered in order, and a broken one stops no other`() async throws {
        try await withServer { fixture in
            let replies = try await fixture.stream(
                "/v1/batch",
                [
                    put("a", 1), "{", "", #"{"method":"PUT","path":"/v1/devices/phone","body":{"user":"ada"}}"#,
                    #"{"method":"PATCH","path":"/v1/activities/a","body":{"state":{"x":1}}}"#,
                    #"{"method":"POST","path":"/v1/activities/a/audience","body":{"add":["ada"]}}"#,
                    #"{"method":"GET","path":"/v1/activities/a"}"#, #"{"method":"PUT","path":"/v1/nothing"}"#,
                    #"{"method":"PUT","path":"/v1/batch"}"#, #"{"method":"POST","path":"/v1/batch"}"#,
                    put("b", 1, #","ifMatch":"\"7\"""#), put("c", 1, #","idempotencyKey":"k""#),
                    put("c", 1, #","idempotencyKey":"k""#), put("c", 2, #","idempotencyKey":"k""#),
                    put("c", 2, #","idempotencyKey":"a b""#), put("c", 2, #","extra":1"#),
                    #"{"method":"DELETE","path":"/v1/activities/a?dryRun=true"}"#,
                    #"{"method":"POST","path":"/v1/activities/a/end"}"#,
                    #"{"method":"DELETE","path":"/v1/activities/a?sequence=3"}"#,
                    #"{"method":"DELETE","path":"/v1/activities/%00"}"#, #"{"method":"","path":"/"}"#,
                    #"{"method":"PUT","path":"/v1/activities/d","body":"\#(String(repeating: "x", count: 70_000))"}"#,
                    #"{"method":"DELETE","path":"/v1/devices/phone"}"#,
                    #"{"method":"POST","path":"/v1/webhooks/none/enable","idempotencyKey":"k2"}"#,
                ])
            let statuses = replies.map { $0["/status"]?.int ?? 0 }
            #expect(
                statuses == [
                    200, 400, 200, 200, 200, 422, 404, 405, 422, 412, 200, 200, 422, 422, 422, 400, 200, 200, 400, 422,
                    413, 200, 422,
                ])
            #expect(replies.map { $0["/line"]?.int ?? 0 } == [1, 2] + Array(4...24))
            // The call itself refuses the header in the same way.
            #expect(replies.last?["/body/pointer"] == "/idempotencyKey")
            #expect(replies[0]["/body"] == ["revision": 1, "changed": true, "phase": "active"])
            #expect(replies[1]["/body/code"] == "invalid_json")
            #expect(replies[2]["/body"] == [:])
            #expect(replies[4]["/body/added"] == 1)
            #expect(replies[10]["/replayed"] == nil && replies[11]["/replayed"] == true)
            #expect(replies[11]["/body/changed"] == true)
            #expect(replies[17]["/body/phase"] == "ended" && replies[17]["/body/changed"] == true)
            #expect(replies[18]["/body/code"] == "invalid_id")
        }
    }

    @Test func `each line needs the scope of its call`() async throws {
        try await withServer { fixture in
            let lines = [put("a", 1), #"{"method":"PUT","path":"/v1/devices/phone","body":{"user":"ada"}}"#]
            let replies = try await fixture.stream("/v1/batch", lines, key: fixture.keys[.device]?.text)
            #expect(replies.map { $0["/status"] } == [403, 200])
            #expect(replies[0]["/body/code"] == "scope_missing")
        }
    }

    @Test func `lines about one activity are done in their order`() async throws {
        try await withServer { fixture in
            let lines = (1...400).map { put($0 % 4 == 0 ? "other-\($0)" : "a", $0) }
            let replies = try await fixture.stream("/v1/batch", lines)
            #expect(replies.map { $0["/line"]?.int ?? 0 } == Array(1...400))
            let revisions = replies.enumerated().filter { ($0.offset + 1) % 4 != 0 }.map {
                $0.element["/body/revision"]
            }
            #expect(revisions == (1...300).map { JSONValue.number(JSONNumber($0)) })
            #expect(try await fixture.call(.get, "/v1/activities/a")["/state/step"] == 399)
        }
    }

    @Test func `there is a limit of lines, and of streams`() async throws {
        var limits = LiveActivityServer.Limits()
        limits.lines = 3
        try await withServer(limits: limits) { fixture in
            let replies = try await fixture.stream("/v1/batch", (1...9).map { put("a\($0)", 1) })
            #expect(replies.map { $0["/status"] } == [200, 200, 200, 413])
        }
        limits.streams = 0
        try await withServer(limits: limits) { fixture in
            let reply = try await fixture.call(.post, "/v1/batch", put("a", 1))
            #expect(reply.status == 503 && reply.code == "overloaded")
            let text = try await fixture.call(
                .post, "/v1/batch", "", key: fixture.keys[.backend]?.text, headers: [.contentType: "text/plain"])
            #expect(text.code == "unsupported_media_type")
        }
    }

    // MARK: - Over a connection

    @Test func `a line is answered before the next one is sent`() async throws {
        try await withListeningServer { fixture, address in
            try await SocketClient.connect(to: address) { client in
                try await client.begin("/v1/batch", key: fixture.keys[.backend]?.text ?? "")
                for step in 1...5 {
                    try await client.send(put("a", step) + "\n")
                    let line = try #require(try await client.nextLine())
                    #expect(line["/line"]?.int == step && line["/body/revision"]?.int == step)
                }
                try await client.end()
                #expect(try await client.nextLine() == nil)
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a client that sends everything before it reads gets all answers`() async throws {
        try await withListeningServer { fixture, address in
            try await SocketClient.connect(to: address) { client in
                try await client.begin("/v1/batch", key: fixture.keys[.backend]?.text ?? "")
                let count = 3000
                // Broken lines have long answers, more than the buffers between client and server hold.
                for start in stride(from: 0, to: count, by: 100) {
                    try await client.send(
                        (start..<(start + 100)).map { $0 % 10 == 0 ? put("a\($0)", 1) : "{" }
                            .joined(separator: "\n") + "\n")
                }
                try await client.end()
                var lines = 0
                while let line = try await client.nextLine() {
                    lines += 1
                    #expect(line["/line"]?.int == lines)
                }
                #expect(lines == count)
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a slow reader slows the reading of lines down, and gets all answers`() async throws {
        var limits = LiveActivityServer.Limits()
        limits.unreadBytes = 2000
        limits.openLines = 4
        try await withListeningServer(limits: limits) { fixture, address in
            try await SocketClient.connect(to: address) { client in
                try await client.begin("/v1/batch", key: fixture.keys[.backend]?.text ?? "")
                let count = 500
                async let sending: Void = {
                    for number in 0..<count { try await client.send(put("a\(number % 100)", number) + "\n") }
                    try await client.end()
                }()
                var lines = 0
                while let line = try await client.nextLine() {
                    lines += 1
                    #expect(line["/line"]?.int == lines && line["/status"] == 200)
                    for _ in 0..<20 { await Task.yield() }
                }
                try await sending
                #expect(lines == count)
            }
        }
    }

    @Test func `whoever sends no whole line for a minute gives its place back`() async throws {
        try await withListeningServer { fixture, address in
            try await SocketClient.connect(to: address) { client in
                try await client.begin("/v1/batch", key: fixture.keys[.backend]?.text ?? "")
                try await client.send(put("a", 1) + "\n")
                #expect(try await client.nextLine()?["/status"] == 200)
                fixture.clock.advance(.seconds(59))
                try await client.send("\n" + put("a", 2) + "\n")
                #expect(try await client.nextLine()?["/status"] == 200)
                // Neither an unfinished line nor an empty one counts as a whole line.
                fixture.clock.advance(.seconds(60))
                try await client.send("\n{")
                try await client.send("\n" + put("a", 3) + "\n")
                try await client.end()
                let last = try await client.nextLine()
                #expect(last?["/status"] == 408 && last?["/body/code"] == "request_timeout")
                #expect(try await client.nextLine() == nil)
            }
            #expect(try await fixture.call(.get, "/v1/activities/a")["/state/step"] == 2)
        }
    }

    @Test func `a client that goes away in the middle leaves the server well`() async throws {
        var limits = LiveActivityServer.Limits()
        limits.streams = 1
        try await withListeningServer(limits: limits) { fixture, address in
            for _ in 0..<3 {
                try await SocketClient.connect(to: address) { client in
                    // The previous client's place becomes free after a while.
                    try await client.begin("/v1/batch", key: fixture.keys[.backend]?.text ?? "", untilTaken: true)
                    try await client.send(put("a", 1) + "\n" + #"{"method":"#)
                    #expect(try await client.nextLine()?["/status"] == 200)
                }
            }
        }
    }
}
