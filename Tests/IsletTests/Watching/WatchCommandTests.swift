import HTTPTypes
import JSONText
import LoopbackServer
import Synchronization
import Testing

/// `islet activities` and `islet watch` ask a running server.
struct WatchCommandTests {
    private static func row(_ name: String) -> String {
        #"""
        {"activity":"\#(name)","type":"Order","phase":"active","run":1,"revision":3,
         "updatedAt":"2026-11-21T14:45:00Z","phones":1200}
        """#
    }

    @Test func `activities are listed page by page, and what is chosen is asked for`() async throws {
        let first = #"{"activities":[\#(Self.row("a b")),\#(Self.row("c"))],"next":"3f"}"#
        let second = #"{"activities":[\#(Self.row("d"))]}"#
        try await withLoopbackServer({ httpAnswer(.ok, $0.path.contains("after=3f") ? second : first) }) {
            address, asked in
            let folder = try Folder()
            let run = try await Execution.of(
                ["activities", "--server", address, "--user", "ada+1", "--phase", "active", "--type", "Order"],
                in: folder, environment: ["ISLET_KEY": "islet_key"])
            #expect(run.code == 0, "\(run.refusals)")
            let query = "type=Order&phase=active&user=ada%2B1"
            #expect(
                asked().map(\.line) == [
                    "GET /v1/activities?limit=100&newest=true&\(query)",
                    "GET /v1/activities?limit=98&after=3f&newest=true&\(query)",
                ])
            #expect(asked().allSatisfy { $0.authorization == "Bearer islet_key" })
            let lines = run.output.split(separator: "\n")
            #expect(lines.count == 4 && lines[0].hasPrefix("ACTIVITY  TYPE   PHASE   RUN  REVISION  PHONES  CHANGED"))
            #expect(lines[1].hasPrefix("a b       Order  active  1    3         1,200   "))
            let some = try await Execution.of(
                ["activities", "--server", address, "--key", "k", "--limit", "2", "--oldest", "--json"], in: folder)
            #expect(asked().last?.line == "GET /v1/activities?limit=2")
            let answer = try JSONValue(parsing: some.output)
            #expect(answer.object?["more"] == true && answer.object?["activities"]?.array?.count == 2)
        }
    }

    @Test func `without a key, a server or sense it says what is missing`() async throws {
        let folder = try Folder()
        let keyless = try await Execution.of(["activities"], in: folder, environment: ["ISLET_KEY": ""])
        #expect(keyless.code == 1 && keyless.refusals.first?.contains("ISLET_KEY") == true)
        let nobody = try await Execution.of(
            ["watch", "a", "--server", "http://127.0.0.1:1", "--key", "k"], in: folder)
        #expect(nobody.code == 1 && nobody.refusals.first?.contains("does not answer") == true)
        for bad in [
            ["activities", "--limit", "0"], ["activities", "--phase", "x"], ["watch"], ["watch", "a", "--every", "0"],
        ] {
            #expect(try await Execution.of(bad + ["--key", "k"], in: folder).code == 64, "\(bad)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `watching goes on through an outage until the activity is over, and prints what changed alone`() async throws {
        @Sendable func view(_ phase: String, _ revision: Int) -> String {
            #"""
            {"activity":"a/1","type":"Order","phase":"\#(phase)","run":1,"revision":\#(revision),"state":{},
             "attributes":{},"updatedAt":"2026-11-21T14:45:00Z","counts":{},"devices":[]}
            """#
        }
        let looks = Mutex(0)
        try await withLoopbackServer({ asked in
            guard !asked.path.contains("timeline") else { return httpAnswer(.ok, #"{"entries":[]}"#) }
            let look = looks.withLock { look in
                look += 1
                return look
            }
            return switch look {
            case 1, 2: httpAnswer(.ok, view("active", 1))
            case 3: httpAnswer(.serviceUnavailable, #"{"code":"overloaded","detail":"too much"}"#)
            default: httpAnswer(.ok, view("ended", 2))
            }
        }) { address, asked in
            let run = try await Execution.of(
                ["watch", "a/1", "--server", address, "--key", "k", "--every", "0.2"], in: try Folder())
            #expect(run.code == 0, "\(run.refusals)")
            #expect(
                asked().first?.line == "GET /v1/activities/a%2F1?limit=1000"
                    && asked()[1].line == "GET /v1/activities/a%2F1/timeline?newest=true&limit=10")
            #expect(looks.withLock(\.self) == 4)
            let heads = run.output.split(separator: "\n").filter { $0.hasPrefix("a/1") }
            #expect(heads.count == 3, "\(run.output)")
            #expect(
                run.output.contains("! GET /v1/activities/a%2F1?limit=1000: 503 overloaded: too much; this is what"))
            #expect(heads.last?.contains("ended, run 1, revision 2") == true)
        }
    }
}
