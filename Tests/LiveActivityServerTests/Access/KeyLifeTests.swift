import APNSModel
import Crypto
import HTTPTypes
import IsletBasics
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Testing

/// An API key from its first use to its end.
@Suite struct KeyLifeTests {
    @Test func `a key works until it expires, and from then on is told so`() async throws {
        try await withServer { fixture in
            var dice = SplitMix64(seed: 8)
            let (key, made) = APIKey.make(app: pizza.bundleID, scope: .read, at: fixture.clock.now, using: &dice)
            var record = made
            record.expiresAt = fixture.clock.now + .seconds(60)
            try await fixture.store.insertKey(record)
            #expect(try await fixture.call(.get, "/v1/activities", key: key.text).status == 200)
            fixture.clock.advance(.milliseconds(59_999))
            #expect(try await fixture.call(.get, "/v1/activities", key: key.text).status == 200)
            fixture.clock.advance(.milliseconds(1))
            let reply = try await fixture.call(.get, "/v1/activities", key: key.text)
            #expect(reply.status == 401 && reply.code == "key_expired")
            // A caller without the secret does not learn that the key existed.
            let wrong = key.text.dropLast() + (key.text.hasSuffix("A") ? "E" : "A")
            #expect(try await fixture.call(.get, "/v1/activities", key: String(wrong)).code == "key_invalid")
            let unknown = APIKey(using: &dice).text
            #expect(try await fixture.call(.get, "/v1/activities", key: unknown).code == "key_invalid")
        }
    }

    @Test func `a revoked key is not taken by the next call, whoever revoked it`() async throws {
        try await withServer { fixture in
            let key = try #require(fixture.keys[.read])
            for _ in 0..<3 { #expect(try await fixture.call(.get, "/v1/activities", key: key.text).status == 200) }
            #expect(try await fixture.store.revokeKey(key.id, at: fixture.clock.now))
            #expect(try await fixture.call(.get, "/v1/activities", key: key.text).code == "key_invalid")
        }
    }

    @Test func `the last use is written off the calls' way, and once a minute at most`() async throws {
        try await withServer { fixture in
            let key = try #require(fixture.keys[.read])
            func used() async throws -> UnixTime? { try await fixture.store.key(key.id)?.usedAt }
            let before = try fixture.contents()
            for _ in 0..<5 { #expect(try await fixture.call(.get, "/v1/activities", key: key.text).status == 200) }
            #expect(try fixture.contents() == before, "a call writes nothing of it")
            let first = fixture.clock.now
            fixture.clock.advance(.seconds(59))
            await fixture.server.upkeep.step()
            #expect(try await used() == nil)
            fixture.clock.advance(.seconds(1))
            await fixture.server.upkeep.step()
            #expect(try await used() == first)
            // Within a minute of the last note, a use is not written.
            fixture.clock.advance(.milliseconds(-500))
            #expect(try await fixture.call(.get, "/v1/activities", key: key.text).status == 200)
            let written = try await fixture.store.statistics().commits
            await fixture.server.upkeep.writeUses()
            #expect(try await fixture.store.statistics().commits == written)
            fixture.clock.advance(.milliseconds(500))
            #expect(try await fixture.call(.get, "/v1/activities", key: key.text).status == 200)
            await fixture.server.upkeep.writeUses()
            #expect(try await used() == first + .seconds(60))
            // A refused call is not a use.
            #expect(try await fixture.call(.get, "/v1/activities", key: fixture.revoked.text).status == 401)
            await fixture.server.upkeep.writeUses()
            #expect(try await fixture.store.key(fixture.revoked.id)?.usedAt == nil)
        }
    }

    @Test func `a caller's label is short, the same for each call, and tells no person`() throws {
        let app = try #require(BundleIDs.pizza)
        let ada = Caller.person(app: app, user: try UserID("ada@example.com"))
        #expect(ada.label == Caller.person(app: app, user: try UserID("ada@example.com")).label)
        #expect(ada.label != Caller.person(app: app, user: try UserID("bob")).label)
        let gone = try #require(BundleIDs.gone)
        #expect(ada.label != Caller.person(app: gone, user: try UserID("ada@example.com")).label)
        #expect(ada.label.hasPrefix("person-") && !ada.label.contains("ada"))
        let hash = SHA256.hash(data: Array("\(app.text) ada@example.com".utf8)).prefix(8)
        let plain = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(!ada.label.contains(plain), "whoever guesses the person could check the guess")
        let long = try UserID(String(repeating: "é", count: 128))
        for caller in [
            ada, .person(app: app, user: long),
            .phone(app: app, PhoneCredentialHolder(device: .max, user: long, secretHash: [])),
        ] {
            #expect(caller.label.utf8.count <= 24, "\(caller.label)")
        }
    }

    @Test(arguments: [0, 1, 61, 62, 1 << 40, Int64.max] as [Int64])
    func `a credential names its device and reads back, and printing it shows no secret`(device: Int64) throws {
        var dice = SplitMix64(seed: UInt64(device))
        let credential = PhoneCredential(of: device, using: &dice)
        #expect(credential.text.utf8.count == 69 && credential.device == device)
        #expect(PhoneCredential(credential.text) == credential)
        #expect(APIKey(credential.text) == nil, "it is no API key")
        var dumped = ""
        dump(credential, to: &dumped)
        #expect(!dumped.contains(credential.text.suffix(43)) && !"\(credential)".contains(credential.text.suffix(43)))
        for text in ["", "islet_device_", "islet_device_zzzzzzzzzzzz_" + credential.text.suffix(43)] {
            #expect(PhoneCredential(text) == nil)
        }
    }
}
