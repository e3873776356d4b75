import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of the retry table.
struct ConsequenceTests {
    private func context(dice: Double, tries: Int = 0, laneTries: Int = 0, other: Bool = false) -> Consequence.Context {
        Consequence.Context(
            tries: tries, laneTries: laneTries, tokenFirstSeenAt: Sample.now - .seconds(100), environment: .production,
            mayTryOtherEnvironment: other, now: Sample.now, dice: dice)
    }

    private func answer(
        _ status: Int, _ reason: String? = nil, since: UnixTime? = nil
    ) -> Result<PushAnswer, PushFailure> {
        .success(PushAnswer(status: status, reason: reason.map { APNSReason($0) }, inactiveSince: since))
    }

    @Test func `200 is accepted`() {
        #expect(Consequence(answer(200), context(dice: 0)) == .accepted)
    }

    @Test func `410 kills a value that was seen before its timestamp`() {
        for since in [nil, Sample.now, Sample.now - .seconds(100)] {
            #expect(
                Consequence(answer(410, "Unregistered", since: since), context(dice: 0))
                    == .tokenDead(Reason(.tokenInactive, "Unregistered")))
        }
        let at = Sample.now + .milliseconds(750)
        #expect(
            Consequence(answer(410, "ExpiredToken", since: Sample.now - .seconds(101)), context(dice: 0))
                == .retry(at: at, Reason(.tokenNewer, at.description)))
    }

    @Test func `a token that APNs goes on calling inactive since before it was seen is dead`() {
        let answer = answer(410, "ExpiredToken", since: Sample.now - .seconds(101))
        for tries in 0..<9 {
            guard case .retry = Consequence(answer, context(dice: 0, tries: tries)) else {
                Issue.record("dead after \(tries) tries")
                return
            }
        }
        #expect(
            Consequence(answer, context(dice: 0, tries: 9)) == .tokenDead(Reason(.tokenInactive, "ExpiredToken")))
    }

    @Test func `BadDeviceToken is tried once in the other environment, where that is possible`() {
        #expect(Consequence(answer(400, "BadDeviceToken"), context(dice: 0)) == .tokenDead(Reason(.tokenBad)))
        #expect(
            Consequence(answer(400, "BadDeviceToken"), context(dice: 0, other: true))
                == .otherEnvironment(.sandbox, Reason(.otherEnvironment, "sandbox")))
        #expect(
            Consequence(answer(400, "DeviceTokenNotForTopic"), context(dice: 0, other: true))
                == .tokenDead(Reason(.tokenWrongTopic)))
    }

    @Test func `429 keeps the token and waits, longer each time`() {
        for (tries, dice, seconds) in [(0, 0.0, 1), (0, 1.0, 2), (1, 1.0, 4), (3, 1.0, 16), (20, 1.0, 300)] {
            let at = Sample.now + .seconds(seconds)
            #expect(
                Consequence(answer(429, "TooManyRequests"), context(dice: dice, tries: tries))
                    == .retry(at: at, Reason(.slowDown, at.description)))
        }
    }

    typealias FaultRow = (status: Int, reason: String, kind: Consequence.Fault.Kind, least: Double, most: Double)
    static let faults: [FaultRow] = [
        (500, "InternalServerError", .service, 0.75, 1.25), (503, "ServiceUnavailable", .service, 0.75, 1.25),
        (502, "whatever", .service, 0.75, 1.25), (503, "Shutdown", .connection, 0.75, 1.25),
        (400, "IdleTimeout", .connection, 0.75, 1.25), (403, "UnrelatedKeyIdInToken", .connection, 0.75, 1.25),
        (429, "TooManyProviderTokenUpdates", .connection, 0.75, 1.25), (403, "ExpiredProviderToken", .halted, 60, 60),
        (403, "InvalidProviderToken", .halted, 60, 60), (403, "Forbidden", .halted, 60, 60),
        (403, "BadEnvironmentKeyInToken", .halted, 60, 60), (400, "TopicDisallowed", .halted, 60, 60),
        (403, "new to us", .halted, 60, 60),
    ]

    @Test(arguments: faults.indices) func `a fault of service, connection or key is the lane's`(index: Int) {
        let row = Self.faults[index]
        for (dice, seconds) in [(0.0, row.least), (1.0, row.most)] {
            guard case .laneFault(let fault) = Consequence(answer(row.status, row.reason), context(dice: dice)) else {
                Issue.record("\(row.status) \(row.reason) is not the lane's")
                return
            }
            #expect(fault.kind == row.kind)
            #expect(fault.retryAt == Sample.now + .milliseconds(Int64(seconds * 1000)))
            #expect(fault.reason.arguments.contains(fault.retryAt.description))
        }
    }

    @Test func `the lane's own tries count for its faults`() {
        guard case .laneFault(let fault) = Consequence(answer(503), context(dice: 1, tries: 9, laneTries: 2)) else {
            Issue.record("not the lane's")
            return
        }
        #expect(fault.retryAt == Sample.now + .seconds(16))
    }

    @Test(arguments: [(400, "PayloadEmpty"), (413, "PayloadTooLarge"), (404, "BadPath"), (400, "new to us"), (418, "")])
    func `any other 4xx is our fault and is parked with its evidence`(status: Int, reason: String) {
        #expect(
            Consequence(answer(status, reason), context(dice: 0)) == .parked(Reason(.parked, String(status), reason)))
    }

    @Test func `a lost answer may have arrived; what did not leave is the lane's`() {
        let at = Sample.now + .milliseconds(1250)
        #expect(
            Consequence(.failure(PushFailure(.unknownFate, "cut")), context(dice: 1))
                == .unknownFate(retryAt: at, Reason(.unknownFate, "cut", at.description)))
        let kinds: [(PushFailure.Code, Consequence.Fault.Kind, Double)] = [
            (.cannotConnect, .connection, 1.25), (.refusedByPeer, .connection, 1.25), (.notSentInTime, .notSent, 0.25),
            (.overloaded, .notSent, 0.25), (.stopping, .notSent, 0.25), (.notConfigured, .halted, 60),
        ]
        #expect(kinds.count + 1 == PushFailure.Code.allCases.count)
        for (code, kind, seconds) in kinds {
            guard case .laneFault(let fault) = Consequence(.failure(PushFailure(code, "d")), context(dice: 1)) else {
                Issue.record("\(code) is not the lane's")
                continue
            }
            #expect(fault.kind == kind && fault.retryAt == Sample.now + .milliseconds(Int64(seconds * 1000)))
        }
    }
}
