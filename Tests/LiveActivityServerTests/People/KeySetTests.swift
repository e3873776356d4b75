import APNSModel
import Crypto
import HTTPTypes
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import Synchronization
import Testing

/// A schedule that an expectation may change.
private final class Planner {
    private var schedule = KeySetSchedule()

    func begin(at now: MonotonicTime) -> Bool { schedule.begin(at: now) }
    func missed(at now: MonotonicTime) -> Bool { schedule.missed(at: now) }
    func holds(at now: MonotonicTime) -> Bool { schedule.holds(at: now) }
    func failed(at now: MonotonicTime) { schedule.failed(at: now) }
    func succeeded(freshFor freshness: Duration?, at now: MonotonicTime) {
        schedule.succeeded(freshFor: freshness, at: now)
    }
}

/// Fetches of key sets, and the keys that are valid meanwhile.
@Suite struct KeySetScheduleTests {
    private static let start = MonotonicTime(nanoseconds: 1_800_000_000_000)

    @Test(
        arguments: [
            (nil, 600), (.seconds(0), 60), (.seconds(59), 60), (.seconds(3600), 3600), (.seconds(1_000_000), 86_400),
        ] as [(Duration?, Int64)])
    func `an answer is fresh for as long as it says, within limits`(freshness: Duration?, seconds: Int64) {
        let schedule = Planner()
        #expect(schedule.begin(at: Self.start) && !schedule.begin(at: Self.start))
        schedule.succeeded(freshFor: freshness, at: Self.start)
        #expect(!schedule.begin(at: Self.start + .milliseconds(seconds * 1000 - 1)))
        #expect(schedule.begin(at: Self.start + .seconds(seconds)))
    }

    @Test func `a failed fetch is repeated after 1, 2, 4 seconds and so on to five minutes`() {
        let schedule = Planner()
        var now = Self.start
        for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] as [Int64] {
            #expect(schedule.begin(at: now))
            schedule.failed(at: now)
            #expect(!schedule.begin(at: now + .milliseconds(wait * 1000 - 1)))
            now = now + .seconds(wait)
        }
        #expect(schedule.begin(at: now))
        schedule.succeeded(freshFor: nil, at: now)
        #expect(schedule.begin(at: now + .seconds(600)))
        schedule.failed(at: now + .seconds(600))
        #expect(schedule.begin(at: now + .seconds(601)), "after a success it counts anew")
    }

    @Test func `the last good set holds for a day of failures, and none from the start`() {
        let schedule = Planner()
        #expect(!schedule.holds(at: Self.start))
        _ = schedule.begin(at: Self.start)
        schedule.succeeded(freshFor: nil, at: Self.start)
        _ = schedule.begin(at: Self.start + .seconds(600))
        schedule.failed(at: Self.start + .seconds(600))
        #expect(schedule.holds(at: Self.start + .seconds(86_399)))
        #expect(!schedule.holds(at: Self.start + .seconds(86_400)))
    }

    @Test func `an unknown key has the set fetched once a minute at most, and not while fetching fails`() {
        let schedule = Planner()
        _ = schedule.begin(at: Self.start)
        #expect(schedule.missed(at: Self.start), "it is being fetched")
        schedule.succeeded(freshFor: .seconds(3600), at: Self.start)
        #expect(!schedule.missed(at: Self.start + .seconds(59)))
        #expect(!schedule.begin(at: Self.start + .seconds(59)))
        let later = Self.start + .seconds(60)
        #expect(schedule.missed(at: later) && schedule.missed(at: later))
        #expect(schedule.begin(at: later))
        schedule.succeeded(freshFor: .seconds(3600), at: later)
        #expect(!schedule.missed(at: later + .seconds(30)))
        _ = schedule.missed(at: later + .seconds(60))
        #expect(schedule.begin(at: later + .seconds(60)))
        schedule.failed(at: later + .seconds(60))
        #expect(!schedule.missed(at: later + .seconds(130)))
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `whatever comes, it is fetched no more than a call a minute and the retries allow`(seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        let schedule = Planner()
        var (now, fetches, failures) = (Self.start, 0, 0)
        for _ in 0..<500 {
            now = now + .seconds(Int64.random(in: 0...20, using: &dice))
            if Bool.random(using: &dice) { _ = schedule.missed(at: now) }
            guard schedule.begin(at: now) else { continue }
            fetches += 1
            if Bool.random(using: &dice) {
                schedule.succeeded(freshFor: .seconds(Int64.random(in: 0...90, using: &dice)), at: now)
            } else {
                failures += 1
                schedule.failed(at: now)
            }
        }
        let minutes = Int((now - Self.start).components.seconds) / 60
        #expect(fetches <= minutes + failures + 2, "seed \(seed)")
    }
}

@Suite struct KeySetTests {
    /// An identity provider whose answers the test sets.
    private final class Provider: Sendable {
        struct State {
            var answer: Result<KeySet.Document, KeySet.FetchFailure> = .failure(KeySet.FetchFailure("down"))
            var calls = 0
        }
        let state = Mutex(State())

        func answer(_ keys: [JSONObject]) { answer(Minter.keySet(keys)) }
        func answer(_ bytes: [UInt8]) { state.withLock { $0.answer = .success(.init(bytes: bytes)) } }
        func fail() { state.withLock { $0.answer = .failure(KeySet.FetchFailure("down")) } }
        var calls: Int { state.withLock(\.calls) }

        func fetch() throws(KeySet.FetchFailure) -> KeySet.Document {
            try state.withLock { state in
                state.calls += 1
                return state.answer
            }.get()
        }
    }

    private func with(_ body: @escaping @Sendable (Fixture, Provider) async throws -> Void) async throws {
        let provider = Provider()
        let set = KeySet(source: "test") { () async throws(KeySet.FetchFailure) in try provider.fetch() }
        let people = PeopleSettings(issuers: [Minter.issuer], audience: Minter.audience, keys: .set(set))
        try await withServer(configure: { $0.people = [pizza.bundleID: people] }) { fixture in
            try await body(fixture, provider)
        }
    }

    private func call(_ fixture: Fixture, _ key: P256.Signing.PrivateKey, id: String?) async throws -> Reply {
        let token = try Minter(key: .p256(key)).token("ada", at: fixture.clock.now) {
            if let id { $0.header["kid"] = .string(id) }
        }
        return try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: token)
    }

    @Test func `a changed configuration goes on with the keys that were fetched before`() async throws {
        let (provider, memory) = (Provider(), ServerMemory(.unhurried))
        let key = P256.Signing.PrivateKey()
        provider.answer([Minter.jwk(key.publicKey, id: "a")])
        for isFirst in [true, false] {
            let set = KeySet(source: "test") { () async throws(KeySet.FetchFailure) in try provider.fetch() }
            let people = PeopleSettings(issuers: [Minter.issuer], audience: Minter.audience, keys: .set(set))
            let configure = { @Sendable (configuration: inout LiveActivityServer.Configuration) in
                configuration.people = [pizza.bundleID: people]
                configuration.memory = memory
            }
            try await withServer(configure: configure) { fixture in
                if isFirst { await fixture.server.upkeep.step() }
                let reply = try await call(fixture, key, id: "a")
                #expect(reply.status == 200 && provider.calls == 1)
            }
        }
    }

    @Test func `keys are rotated without a person noticing, and an outage is survived`() async throws {
        try await with { fixture, provider in
            let (old, new) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
            let early = try await call(fixture, old, id: "old")
            #expect(early.status == 503 && early.code == "keys_unavailable" && early.headers[.retryAfter] == "1")
            provider.answer([Minter.jwk(old.publicKey, id: "old")])
            await fixture.server.upkeep.step()
            #expect(try await call(fixture, old, id: "old").status == 200)
            // A token with another key id is refused. A token needs no id if the set has a single key.
            #expect(try await call(fixture, old, id: "other").code == "token_invalid")
            #expect(try await call(fixture, old, id: nil).status == 200)
            // A new key appears between two fetches.
            provider.answer([Minter.jwk(old.publicKey, id: "old"), Minter.jwk(new.publicKey, id: "new")])
            fixture.clock.advance(.seconds(61))
            #expect(try await call(fixture, new, id: "new").code == "keys_unavailable")
            await fixture.server.upkeep.step()
            #expect(try await call(fixture, new, id: "new").status == 200)
            #expect(try await call(fixture, new, id: "old").code == "token_invalid")
            #expect(try await call(fixture, new, id: nil).code == "token_invalid")
            // Unknown ids cause no fetch within a minute.
            let calls = provider.calls
            for index in 0..<20 { #expect(try await call(fixture, new, id: "x\(index)").code == "token_invalid") }
            await fixture.server.upkeep.step()
            #expect(provider.calls == calls)
            // While the provider is down or broken, the last good set is valid for a day.
            provider.fail()
            for _ in 0..<10 {
                fixture.clock.advance(.seconds(3600))
                await fixture.server.upkeep.step()
                #expect(try await call(fixture, new, id: "new").status == 200)
            }
            provider.answer(Array("<html>".utf8))
            fixture.clock.advance(.seconds(3600))
            await fixture.server.upkeep.step()
            #expect(try await call(fixture, new, id: "new").status == 200)
            fixture.clock.advance(.seconds(16 * 3600))
            await fixture.server.upkeep.step()
            #expect(try await call(fixture, new, id: "new").code == "keys_unavailable")
            // A key that was removed from the set is no longer accepted.
            provider.answer([Minter.jwk(new.publicKey, id: "new")])
            fixture.clock.advance(.seconds(3600))
            await fixture.server.upkeep.step()
            #expect(try await call(fixture, new, id: "new").status == 200)
            #expect(try await call(fixture, old, id: "old").code == "token_invalid")
        }
    }

    @Test func `a set gives what it can: other keys are passed over, and symmetric ones never taken`() async throws {
        let key = P256.Signing.PrivateKey()
        var encryption = Minter.jwk(key.publicKey, id: "enc")
        encryption["use"] = "enc"
        var other = Minter.jwk(key.publicKey, id: "alg")
        other["alg"] = "RS256"
        let secret = Array("an example of thirty-two letters, or more".utf8)
        let oct: JSONObject = ["kty": "oct", "kid": "oct", "k": .string(Minter.base64(secret))]
        let broken: JSONObject = ["kty": "EC", "crv": "P-256", "kid": "broken", "x": "AA", "y": "AA"]
        let short: JSONObject = ["kty": "RSA", "kid": "short", "n": "AQAB", "e": "AQAB"]
        let passedOver = [encryption, other, oct, broken, short]
        try await with { fixture, provider in
            provider.answer(passedOver + [Minter.jwk(key.publicKey, id: "good")])
            await fixture.server.upkeep.step()
            #expect(try await call(fixture, key, id: "good").status == 200)
            for id in ["enc", "alg", "broken", "short"] {
                #expect(try await call(fixture, key, id: id).code == "token_invalid", "\(id)")
            }
            let forged = try Minter(key: .secret(secret)).token("ada", at: fixture.clock.now) {
                $0.header["kid"] = "oct"
            }
            #expect(try await fixture.call(.put, "/v1/devices/phone-1", "{}", key: forged).code == "token_invalid")
        }
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[{"kty":"oct"}]}"#])
    func `a document without a usable key is a failed fetch`(text: String) async throws {
        try await with { fixture, provider in
            provider.answer(Array(text.utf8))
            await fixture.server.upkeep.step()
            let reply = try await call(fixture, P256.Signing.PrivateKey(), id: "a")
            #expect(reply.code == "keys_unavailable")
        }
    }

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("max-age=300", .seconds(300)), ("public, Max-Age=\"60\" ", .seconds(60)),
            ("max-age=10, no-store", .zero), ("no-cache", .zero), ("max-age=-5", .zero), ("max-age=soon", nil),
            ("s-maxage=9", nil), ("max-age=99999999999", .seconds(31_536_000)),
        ] as [(String?, Duration?)])
    func `how long an answer is fresh is read from its header`(header: String?, expected: Duration?) {
        #expect(KeySet.freshness(header) == expected)
    }
}
