import APNSModel
import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// Streams that were opened with a key that is no longer valid.
@Suite struct OpenStreamTests {
    private static func put(_ step: Int) -> String {
        #"{"method":"PUT","path":"/v1/activities/a","body":{"type":"Order","state":{"step":\#(step)}}}"# + "\n"
    }

    @Test(arguments: ["/v1/batch", "/v1/activities/a/audience"])
    func `a key that is revoked is over in the middle of a stream`(path: String) async throws {
        try await withListeningServer { fixture, address in
            _ = try await fixture.put("/v1/activities/a", #"{"type":"Order","state":{"step":0}}"#)
            @Sendable func line(_ number: Int) -> String {
                path == "/v1/batch" ? Self.put(number) : #"{"add":["user-\#(number)"]}"# + "\n"
            }
            let key = try #require(fixture.keys[.backend])
            try await SocketClient.connect(to: address) { client in
                try await client.begin(path, key: key.text)
                try await client.send(line(1))
                #expect(try await client.nextLine()?["/status"] == 200)
                fixture.clock.advance(.seconds(1))
                try await client.send(line(2))
                #expect(try await client.nextLine()?["/status"] == 200)
                #expect(try await fixture.store.revokeKey(key.id, at: fixture.clock.now))
                fixture.clock.advance(.seconds(1))
                try await client.send(line(3))
                try await client.send(line(4))
                try await client.end()
                let last = try await client.nextLine()
                #expect(last?["/status"] == 401 && last?["/body/code"] == "key_invalid")
                #expect(try await client.nextLine() == nil)
            }
            let view = try await fixture.call(.get, "/v1/activities/a", key: fixture.keys[.read]?.text)
            #expect(view["/state/step"] == (path == "/v1/batch" ? 2 : 0))
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a live page of the console ends with its key and with its session`(isKey: Bool) async throws {
        try await withListeningServer { fixture, address in
            let key = try #require(fixture.keys[.read])
            let body = #"{"key":"\#(key.text)"}"#
            let own = "Host: localhost\r\nOrigin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"
            try await RawConnection.open(address) { page in
                await page.send(
                    "POST /console/session HTTP/1.1\r\n\(own)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                let answer = await page.text(until: "}")
                func value(_ before: String, _ end: Character) throws -> String {
                    let start = try #require(answer.lowercased().firstRange(of: before)).upperBound
                    return String(answer[start...].prefix { $0 != end })
                }
                let session = "\(own)Cookie: \(try value("set-cookie: ", ";"))\r\n"
                let token = try value(#""token":""#, "\"")
                await page.send("GET /console/live HTTP/1.1\r\n\(session)\r\n")
                let head = await page.text(until: "retry: 3000")
                #expect(head.contains("HTTP/1.1 200 ") && head.contains("X-Accel-Buffering: no"))
                await fixture.server.sampler.step()
                #expect(await page.text(until: "event: overview").contains("event: overview"))
                if isKey {
                    #expect(try await fixture.store.revokeKey(key.id, at: fixture.clock.now))
                } else {
                    try await RawConnection.open(address) { other in
                        await other.send(
                            "DELETE /console/session HTTP/1.1\r\n\(session)Islet-Console-Token: \(token)\r\n\r\n")
                        #expect(await other.text(until: "\r\n\r\n").contains("HTTP/1.1 204 "))
                    }
                }
                await fixture.server.sampler.step()
                #expect(!(await page.text(until: "0\r\n\r\n").contains("event: overview")))
            }
        }
    }
}
