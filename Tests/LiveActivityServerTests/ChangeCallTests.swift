import APNSModel
import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage
import Testing

private let path = "/v1/activities/order-1"
private let order = #"{"type":"Order","state":{"step":1,"eta":{"min":4,"max":9}},"audience":{"users":["ada"]}}"#

@Suite struct ChangeCallTests {
    @Test func `a patch merges into the stored state and leaves everything else`() async throws {
        try await withServer { fixture in
            let body = #"{"type":"Order","state":{"a":1,"b":{"c":2,"d":3},"e":[1]},"relevance":5,"staleAfter":"10m"}"#
            _ = try await fixture.put(path, body)
            let stale = try await fixture.call(
                .patch, path, #"{"state":{"a":null,"b":{"c":null,"x":{"y":null}},"e":{"f":1}}}"#)
            #expect(stale.status == 200 && stale["/changed"] == true && stale["/revision"] == 2)
            let view = try await fixture.call(.get, path)
            #expect(view["/state"] == ["b": ["d": 3, "x": [:]], "e": ["f": 1]])
            let again = try await fixture.call(.patch, path, #"{"state":{"a":null}}"#)
            #expect(again["/changed"] == false && again["/revision"] == 2)
            #expect(try await fixture.call(.patch, path, #"{"relevance":6}"#)["/changed"] == true)
            #expect(try await fixture.call(.patch, path, #"{"relevance":6,"staleAfter":"10m"}"#)["/changed"] == false)
            #expect(try await fixture.call(.patch, path, #"{"staleAt":1800009000}"#)["/changed"] == true)
        }
    }

    @Test func `a delete ends at once, and again changes nothing`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put(path, order)
            let first = try await fixture.call(.delete, path)
            #expect(first.status == 200 && first["/phase"] == "ended" && first["/changed"] == true)
            #expect(try await fixture.call(.delete, path)["/changed"] == false)
            #expect(try await fixture.call(.patch, path, "{}").code == "activity_ended")
        }
    }

    // MARK: - Audience

    @Test func `people join and leave, and only audience and cards change`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone("p-ada", user: "ada")
            try await fixture.registerPhone("p-bob", user: "bob")
            _ = try await fixture.put(path, order)
            let audience = path + "/audience"
            let joined = try await fixture.call(.post, audience, #"{"add":["bob","cat","ada","bob"]}"#)
            #expect(joined["/added"] == 2 && joined["/unchanged"] == 1 && joined["/members"] == 3)
            #expect(joined["/revision"] == 1 && joined["/phones/start"] == 2)
            let left = try await fixture.call(.post, audience, #"{"remove":["ada","nobody"],"add":["cat"]}"#)
            #expect(left["/removed"] == 1 && left["/members"] == 2 && left["/unchanged"] == 1)
            let replaced = try await fixture.call(.post, audience, #"{"replace":["dan","bob"]}"#)
            #expect(replaced["/added"] == 1 && replaced["/removed"] == 1 && replaced["/members"] == 2)
            #expect(try await fixture.call(.get, path)["/revision"] == 1)
            let list = try await fixture.call(.get, "/v1/activities?user=ada")
            #expect(list["/activities"] == [])
            let ended = try await fixture.call(.post, path + "/end")
            #expect(ended.status == 200)
            #expect(try await fixture.call(.post, audience, #"{"remove":["bob"]}"#)["/members"] == 1)
        }
    }

    @Test func `a replacement by pages removes whom no page named, and repeating a page is harmless`() async throws {
        try await withServer { fixture in
            let names = (0..<2500).map { "u\($0)" }
            func page(_ session: String, _ users: ArraySlice<String>, last: Bool = false) -> String {
                #"{"replace":{"session":"\#(session)","users":["#
                    + users.map { "\"\($0)\"" }.joined(separator: ",") + "],\"last\":\(last)}}"
            }
            _ = try await fixture.put(path, order)
            let first = [
                page("s1", names[..<1000]), page("s1", names[1000..<2000]), page("s1", names[2000...], last: true),
            ]
            let reply = try await fixture.stream(path + "/audience", first)
            #expect(reply.count == 3 && reply.allSatisfy { $0.json?.object?["status"] == 200 })
            #expect(reply.last?["/body/added"] == 500 && reply.last?["/body/removed"] == 1)
            #expect(reply.last?["/body/members"] == 2500)
            // Each page once more, in any order.
            for line in try await fixture.stream(path + "/audience", [first[1], first[2], first[0]]) {
                #expect(line["/body/added"] == 0 && line["/body/removed"] == 0 && line["/body/members"] == 2500)
            }
            let second = [page("s2", names[..<10]), page("s2", names[10..<20], last: true)]
            let replies = try await fixture.stream(path + "/audience", second + [first[0]])
            #expect(replies[1]["/body/removed"] == 2480 && replies[1]["/body/members"] == 20)
            #expect(replies[2]["/status"] == 409 && replies[2]["/body/code"] == "session_replaced")
            let late = try await fixture.call(.post, path + "/audience", page("s2", names[30..<40]))
            #expect(late.code == "session_closed")
            // A whole audience also replaces a session.
            _ = try await fixture.call(.post, path + "/audience", page("s3", names[..<1]))
            #expect(try await fixture.call(.post, path + "/audience", #"{"replace":["ada"]}"#)["/members"] == 1)
            #expect(
                try await fixture.call(.post, path + "/audience", page("s3", names[..<1])).code == "session_replaced")
        }
    }

    @Test func `who is replaced at once may be many`() async throws {
        try await withServer { fixture in
            _ = try await fixture.put(path, order)
            for start in stride(from: 0, to: 2500, by: 500) {
                let users = (start..<(start + 500)).map { "\"u\($0)\"" }.joined(separator: ",")
                _ = try await fixture.call(.post, path + "/audience", #"{"add":[\#(users)]}"#)
            }
            let reply = try await fixture.call(
                .post, path + "/audience", #"{"replace":["u2499","new"]}"#, idempotencyKey: "k")
            #expect(reply["/removed"] == 2500 && reply["/members"] == 2 && reply["/added"] == 1)
            let again = try await fixture.call(
                .post, path + "/audience", #"{"replace":["u2499","new"]}"#, idempotencyKey: "k")
            #expect(again["/removed"] == 2500 && again["/members"] == 2)
        }
    }

    // MARK: - Dry runs

    @Test func `a dry run says what would follow on each phone, and changes nothing`() async throws {
        try await withServer { fixture in
            for user in ["ada", "bob", "cat"] { try await fixture.registerPhone("p-\(user)", user: user) }
            let calls: [(HTTPRequest.Method, String, String?, Int)] = [
                (.put, path, #"{"type":"Order","state":{"step":9},"audience":{"users":["ada","bob","cat"]}}"#, 3),
                (.patch, path, #"{"state":{"step":9}}"#, 1), (.post, path + "/end", "{}", 1), (.delete, path, nil, 1),
                (.post, path + "/audience", #"{"add":["bob"]}"#, 2),
            ]
            for isNew in [true, false] {
                if !isNew { _ = try await fixture.put(path, order) }
                for (method, path, body, phones) in isNew ? [calls[0]] : calls {
                    let before = try fixture.contents()
                    let reply = try await fixture.call(method, path + "?dryRun=true", body)
                    #expect(reply.status == 200 && reply["/dryRun"] == true, "\(method) \(path)")
                    #expect(reply["/devices"]?.array?.count == phones, "\(method) \(path)")
                    #expect(try fixture.contents() == before)
                    // The call is then made, and has the same effect.
                    guard method == .put, !isNew else { continue }
                    #expect(reply["/revision"] == 2 && reply["/phones/start"] == 3)
                    #expect(reply["/devices/0/course"] == "start" && reply["/devices/0/reason/code"] == "first-state")
                }
            }
            let page = try await fixture.call(.put, path + "?dryRun=true&limit=2", calls[0].2)
            #expect(page["/devices"]?.array?.count == 2)
            let next = try #require(page["/next"]?.string)
            let rest = try await fixture.call(.put, path + "?dryRun=true&limit=2&after=\(next)", calls[0].2)
            #expect(rest["/devices"]?.array?.count == 1 && rest["/next"] == nil)
            let refused = try await fixture.call(.patch, path + "?dryRun=true", "{}", ifMatch: "\"9\"")
            #expect(refused.code == "revision_differs")
        }
    }

    // MARK: - Lists

    @Test func `activities are listed in order, by type, phase and user, page by page`() async throws {
        try await withServer { fixture in
            try await fixture.registerPhone()
            for number in 1...7 {
                let type = number % 2 == 0 ? "Named" : "Order"
                let user = number < 4 ? "ada" : "bob"
                _ = try await fixture.put(
                    "/v1/activities/a\(number)", #"{"type":"\#(type)","state":{},"audience":{"users":["\#(user)"]}}"#)
            }
            _ = try await fixture.call(.delete, "/v1/activities/a3")
            func ids(_ query: String) async throws -> [String] {
                var (ids, after): ([String], String?) = ([], nil)
                repeat {
                    let more = after.map { "&after=\($0)" } ?? ""
                    let reply = try await fixture.call(.get, "/v1/activities?limit=2&\(query)\(more)")
                    #expect(reply.status == 200)
                    ids += reply["/activities"]?.array?.compactMap { $0.object?["activity"]?.string } ?? []
                    after = reply["/next"]?.string
                } while after != nil
                return ids
            }
            #expect(try await ids("type=Order") == ["a1", "a3", "a5", "a7"])
            #expect(try await ids("user=ada") == ["a1", "a2", "a3"])
            #expect(try await ids("user=ada&phase=active") == ["a1", "a2"])
            #expect(try await ids("phase=ended") == ["a3"])
            #expect(try await ids("user=nobody") == [])
            #expect(try await ids("newest=true") == ["a7", "a6", "a5", "a4", "a3", "a2", "a1"])
            #expect(try await ids("newest=true&type=Order&phase=active") == ["a7", "a5", "a1"])
            #expect(try await ids("newest=true&user=ada") == ["a3", "a2", "a1"])
            #expect(try await ids("newest=true&user=ada&phase=active") == ["a2", "a1"])
            #expect(try await ids("newest=false&phase=ended") == ["a3"])
            // The list can be read in both directions from any place.
            let place = try await fixture.call(.get, "/v1/activities?limit=4")["/next"]?.string ?? ""
            for (more, rest) in [("", ["a5", "a6"]), ("&newest=true", ["a3", "a2"])] {
                let page = try await fixture.call(.get, "/v1/activities?limit=2&after=\(place)\(more)")
                #expect(page["/activities"]?.array?.compactMap { $0.object?["activity"]?.string } == rest)
            }
            let all = try await fixture.call(.get, "/v1/activities")
            #expect(all["/activities"]?.array?.count == 7 && all["/next"] == nil)
            #expect(all["/activities/0/phones"] == 1 && all["/activities/6/phones"] == 0)
            #expect(try await fixture.call(.get, "/v1/activities", key: fixture.otherApp.text)["/activities"] == [])
            let read = try await fixture.call(.get, "/v1/activities", key: fixture.keys[.read]?.text)
            #expect(read.status == 200)
        }
    }
}
