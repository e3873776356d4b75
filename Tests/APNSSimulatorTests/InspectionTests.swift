import APNSModel
import JSONText
import Testing

@testable import APNSSimulator

/// The front's checks: every status and reason that the simulator can produce, and their order.
struct InspectionTests {
    let team = Team()

    /// Returns a directory with one phone's tokens of each kind, a production token, an expired one and a replaced one.
    static func directory(_ keys: [ProviderKey]) throws -> PushInspection.Directory {
        var directory = PushInspection.Directory()
        for key in keys { directory.keys[key.keyID] = key }
        let phone = try #require(PhoneID("p"))
        func add(_ digit: String, _ use: TokenUse, _ environment: APNSEnvironment = .sandbox) {
            directory.tokens.add(
                String(repeating: digit, count: 64),
                .init(phone: phone, use: use, bundleID: Fixture.bundleID, environment: environment))
        }
        add("a", .device)
        add("b", .pushToStart)
        add("c", .update(localID: "1"))
        add("d", .update(localID: "2"), .production)
        add("e", .update(localID: "3"))
        add("f", .update(localID: "4"))
        let hour = Duration.seconds(3600)
        directory.tokens.end(
            String(repeating: "e", count: 64), .over, at: Fixture.start - hour, grace: .seconds(1800))
        directory.tokens.end(
            String(repeating: "f", count: 64), .replaced, at: Fixture.start - hour, grace: .seconds(1800))
        return directory
    }

    static func arrival(_ authorization: String?, _ change: (inout PushArrival) -> Void = { _ in }) -> PushArrival {
        var arrival = PushArrival(environment: .sandbox)
        arrival.path = "/3/device/" + String(repeating: "c", count: 64)
        arrival.authorization = authorization
        arrival.topic = Fixture.topic
        arrival.pushType = "liveactivity"
        arrival.body = Fixture.updateBody(at: Fixture.start.seconds)
        arrival.bodyBytes = 100
        change(&arrival)
        return arrival
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let reason: APNSReason.Known?
        let change: @Sendable (inout PushArrival) -> Void
        let testDescription: String

        init(_ reason: APNSReason.Known?, _ words: String, _ change: @escaping @Sendable (inout PushArrival) -> Void) {
            self.reason = reason
            self.change = change
            testDescription = "\(reason?.rawValue ?? "200"): \(words)"
        }
    }

    static func path(_ digit: String) -> String { "/3/device/" + String(repeating: digit, count: 64) }

    static let cases: [Case] = [
        Case(nil, "an update") { _ in },
        Case(nil, "upper-case token") { $0.path = path("C") },
        Case(nil, "no priority, no expiration, no id") { $0.priority = nil },
        Case(nil, "priority 1") { $0.priority = "1" },
        Case(nil, "a collapse id of 64 bytes") { $0.collapseID = String(repeating: "x", count: 64) },
        Case(nil, "4,096 bytes") { $0.bodyBytes = 4096 },
        Case(nil, "an alert to a device token") {
            $0.path = path("a")
            $0.pushType = "alert"
            $0.topic = Fixture.bundle
        },
        Case(.methodNotAllowed, "GET") { $0.method = "GET" },
        Case(.badPath, "another path") { $0.path = "/3/devices/aa" },
        Case(.missingDeviceToken, "no token") { $0.path = "/3/device/" },
        Case(.missingDeviceToken, "no slash either") { $0.path = "/3/device" },
        Case(.duplicateHeaders, "a header twice") { $0.hasDuplicates = true },
        Case(.missingProviderToken, "no authorization") { $0.authorization = nil },
        Case(.invalidProviderToken, "no bearer") { $0.authorization = "basic abc" },
        Case(.invalidProviderToken, "no JWT") { $0.authorization = "bearer abc" },
        Case(.badDeviceToken, "not hexadecimal") { $0.path = "/3/device/" + String(repeating: "x", count: 64) },
        Case(.badDeviceToken, "odd length") { $0.path = "/3/device/" + String(repeating: "a", count: 65) },
        Case(.badDeviceToken, "nobody's token") { $0.path = path("9") },
        Case(.badDeviceToken, "a token of production") { $0.path = path("d") },
        Case(.missingTopic, "no topic") { $0.topic = nil },
        Case(.badTopic, "a topic with a space") { $0.topic = "com acme.push-type.liveactivity" },
        Case(.invalidPushType, "no push type") { $0.pushType = nil },
        Case(.invalidPushType, "an unknown push type") { $0.pushType = "activity" },
        Case(.invalidPushType, "alert with the topic of a Live Activity") { $0.pushType = "alert" },
        Case(.deviceTokenNotForTopic, "the suffix is missing") { $0.topic = Fixture.bundle },
        Case(.deviceTokenNotForTopic, "another app") { $0.topic = "com.other.push-type.liveactivity" },
        Case(.deviceTokenNotForTopic, "a device token") { $0.path = path("a") },
        Case(.badPriority, "7") { $0.priority = "7" },
        Case(.badPriority, "a word") { $0.priority = "high" },
        Case(.badPriority, "background at 10") {
            $0.path = path("a")
            $0.pushType = "background"
            $0.topic = Fixture.bundle
            $0.priority = "10"
        },
        Case(.badExpirationDate, "a word") { $0.expiration = "soon" },
        Case(.badExpirationDate, "negative") { $0.expiration = "-1" },
        Case(.badMessageId, "no UUID") { $0.id = "1" },
        Case(.badCollapseId, "65 bytes") { $0.collapseID = String(repeating: "x", count: 65) },
        Case(.payloadTooLarge, "4,097 bytes") { $0.bodyBytes = 4097 },
        Case(.payloadEmpty, "no body") {
            $0.bodyBytes = 0
            $0.body = nil
        },
        Case(.payloadEmpty, "an empty aps") { $0.body = ["aps": [:]] },
        Case(.payloadEmpty, "no JSON") { $0.body = nil },
        Case(.expiredToken, "a card that is over, after the grace") { $0.path = path("e") },
        Case(.unregistered, "a replaced token") { $0.path = path("f") },
    ]

    @Test(arguments: cases)
    func `each fault has Apple's status and reason`(_ item: Case) throws {
        let directory = try Self.directory([team.key()])
        let arrival = Self.arrival(try team.authorization(), item.change)
        #expect(refusal(of: arrival, directory)?.reason == item.reason)
        #expect(refusal(of: arrival, directory)?.status == item.reason?.status)
    }

    private func refusal(
        of arrival: PushArrival, _ directory: PushInspection.Directory, now: UnixTime = Fixture.start
    ) -> Refusal? {
        var session = ProviderSession()
        do throws(Refusal) {
            _ = try PushInspection.inspect(
                arrival, to: arrival.tokenText.flatMap { directory.recipient(of: $0) }, session: &session,
                keys: directory.keys, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test
    func `of several faults the first in the documented order is answered`() throws {
        let directory = try Self.directory([team.key()])
        // From the last check to the first: each new fault takes precedence over the faults before it.
        let faults: [(APNSReason.Known, (inout PushArrival) -> Void)] = [
            (.badDeviceToken, { $0.path = Self.path("9") }),
            (.payloadEmpty, { $0.body = nil }),
            (.payloadTooLarge, { $0.bodyBytes = 9999 }),
            (.badCollapseId, { $0.collapseID = String(repeating: "x", count: 65) }),
            (.badMessageId, { $0.id = "1" }),
            (.badExpirationDate, { $0.expiration = "x" }),
            (.badPriority, { $0.priority = "2" }),
            (.invalidPushType, { $0.pushType = "x" }),
            (.missingTopic, { $0.topic = nil }),
            (.badDeviceToken, { $0.path = "/3/device/zz" }),
            (.missingProviderToken, { $0.authorization = nil }),
            (.duplicateHeaders, { $0.hasDuplicates = true }),
            (.badPath, { $0.path = "/" }),
            (.methodNotAllowed, { $0.method = "PUT" }),
        ]
        var arrival = Self.arrival(try team.authorization())
        for (reason, spoil) in faults {
            spoil(&arrival)
            #expect(refusal(of: arrival, directory)?.reason == reason)
        }
    }

    @Test
    func `a 410 says in milliseconds when the token ended, and only after the grace`() throws {
        let directory = try Self.directory([team.key()])
        let arrival = Self.arrival(try team.authorization()) { $0.path = Self.path("e") }
        let answer = FrontAnswer(try #require(refusal(of: arrival, directory)), usesWireSpelling: true)
        let body = try JSONValue(parsing: answer.body)
        #expect(
            body == ["reason": "ExpiredToken", "timestamp": .init(Int((Fixture.start - .seconds(3600)).milliseconds))])
        let early = Fixture.start - .seconds(1801)
        let young = Self.arrival(try team.authorization(iat: .init(Int(early.seconds)))) { $0.path = Self.path("e") }
        #expect(refusal(of: young, directory, now: early) == nil)
    }

    @Test(arguments: [(true, "BadEnvironmentKeyInToken"), (false, "BadEnvironmentKeyIdInToken")])
    func `a key of the other environment is refused in the spelling that is wanted`(wire: Bool, text: String) throws {
        let directory = try Self.directory([team.key(environments: [.production])])
        let refusal = try #require(refusal(of: Self.arrival(try team.authorization()), directory))
        #expect(FrontAnswer(refusal, usesWireSpelling: wire).reason == text)
    }

    @Test
    func `a topic-specific key is refused other topics`() throws {
        let directory = try Self.directory([team.key(topics: [Fixture.bundle("com.other")])])
        #expect(refusal(of: Self.arrival(try team.authorization()), directory)?.reason == .topicDisallowed)
    }
}

/// Provider tokens: Apple, "Establishing a token-based connection to APNs".
struct ProviderSessionTests {
    let team = Team()

    private func reason(
        _ session: inout ProviderSession, _ header: String?, _ keys: [ProviderKey], at now: UnixTime = Fixture.start
    ) -> APNSReason.Known? {
        do throws(Refusal) {
            _ = try session.authorize(
                header, keys: Dictionary(uniqueKeysWithValues: keys.map { ($0.keyID, $0) }), environment: .sandbox,
                now: now)
            return nil
        } catch {
            return error.reason
        }
    }

    static let ages: [(Int, APNSReason.Known?)] = [
        (0, nil), (3599, nil), (3600, .expiredProviderToken), (-3600, nil), (-3601, .invalidProviderToken),
    ]

    @Test(arguments: ages)
    func `iat may be an hour old or an hour ahead`(age: Int, expected: APNSReason.Known?) throws {
        var session = ProviderSession()
        let iat = JSONValue(Int(Fixture.start.seconds) - age)
        #expect(reason(&session, try team.authorization(iat: iat), [team.key()]) == expected)
    }

    @Test
    func `signature, algorithm, issuer and key id must be right`() throws {
        let key = team.key()
        for header in [
            try team.authorization(breaking: true), try team.authorization(alg: "HS256"),
            try team.authorization(iss: "OTHER67890"), try team.authorization(kid: "OTHER67890"),
            try team.authorization(iat: nil), try Team().authorization(),
        ] {
            var session = ProviderSession()
            #expect(reason(&session, header, [key]) == .invalidProviderToken)
            #expect(!session.isAuthenticated)
        }
    }

    @Test
    func `iat as text is accepted and marked`() throws {
        var session = ProviderSession()
        let header = try team.authorization(iat: .string(String(Fixture.start.seconds)))
        let (token, _) = try session.authorize(
            header, keys: [team.keyID: team.key()], environment: .sandbox, now: Fixture.start)
        #expect(token.issuedAtIsText)
    }

    @Test
    func `another token within 20 minutes on one connection is one too many, the old one stays good`() throws {
        var session = ProviderSession()
        let first = try team.authorization()
        let second = try team.authorization(iat: .init(Int(Fixture.start.seconds) + 1))
        #expect(reason(&session, first, [team.key()]) == nil)
        #expect(
            reason(&session, second, [team.key()], at: Fixture.start + .seconds(1199)) == .tooManyProviderTokenUpdates)
        #expect(reason(&session, first, [team.key()], at: Fixture.start + .seconds(1199)) == nil)
        #expect(reason(&session, second, [team.key()], at: Fixture.start + .seconds(1200)) == nil)
        #expect(
            reason(&session, first, [team.key()], at: Fixture.start + .seconds(1300)) == .tooManyProviderTokenUpdates)
        var another = ProviderSession()
        #expect(reason(&another, second, [team.key()], at: Fixture.start + .seconds(1)) == nil)
    }

    @Test
    func `a connection stays with its team and its topic-specific key`() throws {
        let later = Fixture.start + .seconds(1200)
        let other = Team(keyID: "KEY2222222", teamID: "TEAM222222")
        let sibling = Team(keyID: "KEY3333333")
        let topics: Set<BundleID> = [Fixture.bundleID]
        var session = ProviderSession()
        #expect(reason(&session, try team.authorization(), [team.key()]) == nil)
        #expect(reason(&session, try other.authorization(), [team.key(), other.key()], at: later) == .forbidden)
        #expect(
            reason(&session, try sibling.authorization(), [team.key(), sibling.key(topics: topics)], at: later)
                == .unrelatedKeyIdInToken)
        #expect(reason(&session, try sibling.authorization(), [team.key(), sibling.key()], at: later) == nil)
        var related = ProviderSession()
        let keys = [team.key(topics: topics, related: "KEY3333333"), sibling.key(topics: topics)]
        #expect(reason(&related, try team.authorization(), keys) == nil)
        #expect(reason(&related, try sibling.authorization(), keys, at: later) == nil)
    }
}
