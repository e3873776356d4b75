import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import TestSupport
import Testing

@testable import LiveActivityServer

/// Phones that call by themselves: effects of a person's own token and a phone's own credential, through HTTP.
@Suite struct PeopleCallTests {
    private static let card = #"{"type":"Order","activity":"order-1","state":"active"}"#

    @Test func `F2: a person's phone registers, reports and signs out on its person's word`() async throws {
        try await withPeople { fixture in
            let made = try await fixture.asPerson("ada", .put, "/v1/devices/phone-1", #"{"osVersion":"18.1"}"#)
            #expect(made.status == 200 && made["/credential"] == nil)
            #expect(try await fixture.call(.get, "/v1/devices/phone-1/diagnosis")["/user"] == "ada")
            let state = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada"]}}"#
            #expect(try await fixture.put("/v1/activities/order-1", state).status == 200)
            let told = try await fixture.asPerson("ada", .put, "/v1/devices/phone-1/instances/card-1", Self.card)
            #expect(told["/activities/0/state/step"] == 1)
            let gone = try await fixture.asPerson("ada", .delete, "/v1/devices/phone-1")
            #expect(gone.status == 200 && gone["/activities/0/phase"] == "ended")
        }
    }

    @Test func `the user of a body is the token's, or may be left out where there is one`() async throws {
        try await withPeople { fixture in
            let before = try fixture.contents()
            let other = try await fixture.asPerson("ada", .put, "/v1/devices/phone-1", #"{"user":"bob"}"#)
            #expect(other.status == 403 && other.code == "user_differs" && other["/pointer"] == "/user")
            #expect(!other.text.contains("ada") && !other.text.contains("bob"))
            let nobody = try await fixture.put("/v1/devices/phone-1", "{}")
            #expect(nobody.status == 422 && nobody.code == "invalid_body" && nobody["/pointer"] == "/user")
            #expect(try fixture.contents() == before)
            #expect(try await fixture.asPerson("ada", .put, "/v1/devices/phone-1", #"{"user":"ada"}"#).status == 200)
        }
    }

    @Test func `a phone that changes its owner is handed over by its credential, a sign-out or the backend`()
        async throws
    {
        try await withPeople { fixture in
            let credential = try await fixture.credential(of: "phone-1", "ada")
            let other = try await fixture.credential(of: "phone-2", "ada")
            let before = try fixture.contents()
            // The id of another person's phone gives no access to it.
            for shown in [nil, "hello", other, String(credential.dropLast()) + "A"] {
                let refused = try await fixture.asPerson("bob", .put, "/v1/devices/phone-1", "{}", shown: shown)
                #expect(refused.status == 403 && refused.code == "device_taken")
                #expect(!refused.text.contains("ada"))
            }
            #expect(try fixture.contents() == before)
            let taken = try await fixture.asPerson("bob", .put, "/v1/devices/phone-1", "{}", shown: credential)
            #expect(taken.status == 200)
            #expect(try await fixture.call(.get, "/v1/devices/phone-1/diagnosis")["/user"] == "bob")
            #expect(
                try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: credential).code == "credential_invalid")
            #expect(try await fixture.asPerson("ada", .delete, "/v1/devices/phone-1").code == "unknown_device")
            // A signed-out phone can be registered by anybody.
            #expect(try await fixture.asPerson("bob", .delete, "/v1/devices/phone-1").status == 200)
            #expect(try await fixture.asPerson("eve", .put, "/v1/devices/phone-1", "{}").status == 200)
        }
    }

    // MARK: - Joining

    @Test func `invariant 7: a foreign activity, one of another type and an unknown one look the same`() async throws {
        try await withPeople { fixture in
            let state = #"{"type":"Order","state":{"secret":1},"audience":{"users":["ada"]}}"#
            #expect(try await fixture.put("/v1/activities/order-1", state).status == 200)
            #expect(
                try await fixture.put("/v1/activities/silent-1", #"{"type":"Silent","state":{"secret":1}}"#).status
                    == 200)
            #expect(try await fixture.asPerson("eve", .put, "/v1/devices/phone-e", "{}").status == 200)
            var answers: Set<String> = []
            for (index, activity) in ["order-1", "silent-1", "nobody-knows"].enumerated() {
                for state in ["active", "requesting", "active", "ended"] {
                    let body =
                        #"{"type":"Order","activity":"\#(activity)","state":"\#(state)","#
                        + #""token":"\#(token("e\(index)"))"}"#
                    let reply = try await fixture.asPerson(
                        "eve", .put, "/v1/devices/phone-e/instances/card-\(index)", body)
                    answers.insert("\(reply.status) \(reply.text)")
                }
            }
            #expect(answers == [#"200 {"activities":[]}"#])
            let inventory =
                #"{"sequence":1,"instances":[{"localID":"c","type":"Order","activity":"order-1","state":"active"}]}"#
            let reply = try await fixture.asPerson("eve", .put, "/v1/devices/phone-e/instances", inventory)
            #expect(reply.text == #"{"activities":[]}"#)
            // The backend sees who waits and why. Nothing is sent to that phone.
            fixture.clock.advance(.seconds(20))
            #expect(try await fixture.put("/v1/activities/order-1", state.replacing(":1}", with: ":2}")).status == 200)
            #expect(try await fixture.deliver().isEmpty)
        }
    }

    @Test func `a report that waits is shown the state once its person is named`() async throws {
        try await withPeople { fixture in
            #expect(try await fixture.asPerson("eve", .put, "/v1/devices/phone-e", "{}").status == 200)
            let body = #"{"type":"Order","activity":"order-1","state":"active","token":"\#(token("e"))"}"#
            #expect(try await fixture.asPerson("eve", .put, "/v1/devices/phone-e/instances/c", body).status == 200)
            // The backend sets the activity for the first time, for other people.
            let state = #"{"type":"Order","state":{"step":1},"audience":{"users":["ada"]}}"#
            #expect(try await fixture.put("/v1/activities/order-1", state).status == 200)
            let view = try await fixture.call(.get, "/v1/activities/order-1")
            #expect(view["/devices/0/reason/code"] == "awaiting-audience")
            #expect(
                try await fixture.call(.post, "/v1/activities/order-1/audience", #"{"add":["eve"]}"#).status == 200)
            fixture.clock.advance(.seconds(2))
            #expect(try await fixture.deliver() == [.update])
            let told = try await fixture.asPerson("eve", .put, "/v1/devices/phone-e/instances/c", body)
            #expect(told["/activities/0/state/step"] == 1)
        }
    }

    // MARK: - Batches

    @Test func `a batch is for keys: people and phones make their calls one by one, each counted`() async throws {
        try await withPeople { fixture in
            let credential = try await fixture.credential(of: "phone-b", "bob")
            let line = #"{"method":"PUT","path":"/v1/devices/phone-b","body":{"build":"7"}}"#
            let lines = "application/x-ndjson"
            let before = try fixture.contents()
            let person = try await fixture.asPerson("bob", .post, "/v1/batch", line, type: lines)
            let phone = try await fixture.call(
                .post, "/v1/batch", line, key: credential, headers: [.contentType: lines])
            for reply in [person, phone] { #expect(reply.status == 403 && reply.code == "scope_missing") }
            #expect(try fixture.contents() == before)
            // A credential is never handed out in a batch.
            let wish = #"{"method":"PUT","path":"/v1/devices/phone-b","body":{"user":"bob","wantsCredential":true}}"#
            let replies = try await fixture.stream("/v1/batch", [wish], key: fixture.keys[.device]?.text)
            #expect(replies.map { $0["/body/code"] } == ["invalid_body"])
        }
    }

    // MARK: - Credentials

    @Test func `a credential makes its own phone's calls, and the one before holds until it is used`() async throws {
        try await withPeople { fixture in
            let first = try await fixture.credential(of: "phone-1", "ada")
            #expect(first.wholeMatch(of: /islet_device_[0-9A-Za-z]{12}_[-_0-9A-Za-z]{43}/) != nil)
            #expect(try await fixture.call(.put, "/v1/devices/phone-1", #"{"build":"7"}"#, key: first).status == 200)
            let asked = try await fixture.call(.put, "/v1/devices/phone-1", #"{"wantsCredential":true}"#, key: first)
            let second = try #require(asked["/credential"]?.string)
            #expect(second != first && second.prefix(25) == first.prefix(25))
            // The answer may be lost, so the previous credential is still valid.
            let list = #"{"sequence":1,"instances":[]}"#
            #expect(try await fixture.call(.put, "/v1/devices/phone-1/instances", list, key: first).status == 200)
            #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: second).status == 200)
            #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: first).status == 401)
            // The credential gives access neither to an unknown phone nor to another phone of the same person.
            _ = try await fixture.credential(of: "phone-2", "ada")
            let before = try fixture.contents()
            for phone in ["phone-9", "phone-2"] {
                let elsewhere = try await fixture.call(.put, "/v1/devices/\(phone)", #"{"build":"8"}"#, key: second)
                #expect(elsewhere.status == 404 && elsewhere.code == "unknown_device")
            }
            #expect(try fixture.contents() == before)
            #expect(try await fixture.call(.get, "/v1/activities/order-1", key: second).code == "scope_missing")
            // Only hashes are stored.
            let contents = try fixture.contents()
            for text in [first, second] { #expect(!contents.contains(text.suffix(43))) }
            // A credential in use never expires. An unused one does.
            for _ in 0..<3 {
                fixture.clock.advance(.seconds(60 * 86_400))
                #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: second).status == 200)
            }
            fixture.clock.advance(.seconds(91 * 86_400))
            #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: second).code == "credential_invalid")
        }
    }

    @Test func `a credential is handed out anew where the call is repeated under its idempotency key`() async throws {
        try await withPeople { fixture in
            let key = try #require(HTTPField.Name("Idempotency-Key"))
            let body = #"{"user":"ada","wantsCredential":true}"#
            var texts: Set<String> = []
            for _ in 0..<2 {
                let reply = try await fixture.call(
                    .put, "/v1/devices/phone-1", body, key: fixture.keys[.device]?.text, headers: [key: "k"])
                texts.insert(try #require(reply["/credential"]?.string))
            }
            #expect(texts.count == 2)
            for text in texts.sorted() {
                let isKnown = try await fixture.call(
                    .put, "/v1/devices/phone-1/instances", #"{"sequence":0}"#, key: text)
                #expect(isKnown.code == "invalid_body")
            }
        }
    }

    @Test func `a person's idempotency key is not the backend's`() async throws {
        try await withPeople { fixture in
            let name = try #require(HTTPField.Name("Idempotency-Key"))
            let replayed = try #require(HTTPField.Name("Idempotency-Replayed"))
            func register(_ device: String, _ key: String) async throws -> Reply {
                try await fixture.call(.put, "/v1/devices/\(device)", "{}", key: key, headers: [name: "order-1-ready"])
            }
            let (ada, bob) = (
                try Minter().token("ada", at: fixture.clock.now), try Minter().token("bob", at: fixture.clock.now)
            )
            #expect(try await register("phone-1", ada).status == 200)
            #expect(try await register("phone-2", bob).status == 200)
            let state = #"{"type":"Order","state":{"step":1}}"#
            let set = try await fixture.call(
                .put, "/v1/activities/order-1", state, key: fixture.keys[.backend]?.text,
                headers: [name: "order-1-ready"])
            #expect(set.status == 200 && set["/revision"] == 1)
            // The repeated call of the same person is recognized with either credential.
            #expect(try await register("phone-1", ada).headers[replayed] == "true")
            let credential = try await fixture.credential(of: "phone-1", "ada")
            #expect(try await register("phone-1", credential).headers[replayed] == "true")
            #expect(try await register("phone-3", ada).code == "idempotency_key_reused")
        }
    }

    @Test func `a person's idempotency keys have 256 places, the backend's one each`() throws {
        func places(of caller: Caller) throws -> [IdempotencyPlace] {
            try (1...2000).map { number in try #require(IdempotencyKey("call-\(number)")).place(of: caller) }
        }
        let person = Caller.person(app: Sample.bundleID, user: Sample.user("ada"))
        let own = try places(of: person)
        #expect(Set(own.map(\.hash)).count == 256 && Set(own.map(\.name)).count == 2000)
        #expect(Set(own.map(\.name.count)).count == 1)
        let others = try places(of: .person(app: Sample.bundleID, user: Sample.user("bob")))
        #expect(Set(others.map(\.hash)).isDisjoint(with: own.map(\.hash)))
        let key = Caller.key(
            APIKeyRecord(id: "k", app: Sample.bundleID, scope: .backend, secretHash: [], createdAt: Sample.now))
        let backend = try places(of: key)
        #expect(Set(backend.map(\.hash)).count == 2000 && backend.allSatisfy(\.name.isEmpty))
    }

    @Test func `a revocation counts from the next call on`() async throws {
        try await withPeople { fixture in
            let ways: [@Sendable () async throws -> Void] = [
                {
                    let reply = try await fixture.call(.delete, "/v1/devices/phone-1/credential")
                    #expect(reply["/revoked"] == 1)
                },
                {
                    let admin = fixture.keys[.admin]?.text
                    let reply = try await fixture.call(.delete, "/v1/devices/phone-1/credential", key: admin)
                    #expect(reply.status == 200)
                },
                {
                    let reply = try await fixture.asPerson("ada", .delete, "/v1/devices/phone-1")
                    #expect(reply.status == 200)
                },
                {
                    let reply = try await fixture.put("/v1/devices/phone-1", #"{"user":"bob"}"#)
                    #expect(reply.status == 200)
                },
                {
                    let command = RevokeCredentials(app: pizza.bundleID, id: try DeviceID("phone-1"))
                    let revoked = try await fixture.store.commit(command).get().revoked
                    #expect(revoked == 1)
                },
            ]
            for revoke in ways {
                _ = try await fixture.call(.delete, "/v1/devices/phone-1")
                let credential = try await fixture.credential(of: "phone-1", "ada")
                #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: credential).status == 200)
                try await revoke()
                let before = try fixture.contents()
                #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: credential).status == 401)
                #expect(try fixture.contents() == before)
            }
        }
    }
}

private func withPeople(_ body: @escaping @Sendable (Fixture) async throws -> Void) async throws {
    let people = try Minter.people()
    try await withServer(configure: { $0.people = [pizza.bundleID: people] }, body)
}

extension Fixture {
    /// Makes a call as a person, with a token of their own.
    @discardableResult
    func asPerson(
        _ user: String, _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, shown: String? = nil,
        type: String? = nil
    ) async throws -> Reply {
        var headers: HTTPFields = [:]
        if let shown, let name = HTTPField.Name("Islet-Device-Credential") { headers[name] = shown }
        headers[.contentType] = type
        return try await call(method, path, body, key: try Minter().token(user, at: clock.now), headers: headers)
    }

    /// Returns a credential that a person's phone asked for.
    func credential(of device: String, _ user: String) async throws -> String {
        let reply = try await asPerson(user, .put, "/v1/devices/\(device)", #"{"wantsCredential":true}"#)
        return try #require(reply["/credential"]?.string, "\(reply.text)")
    }
}
