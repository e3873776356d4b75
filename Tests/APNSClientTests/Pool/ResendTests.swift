import APNSModel
import Testing

@testable import APNSClient

@Suite struct ResendTests {
    private func resend(
        _ outcome: Settlement.Outcome, _ resent: Attempt.Resent = [], at now: Double = 0, clockSkew: Duration? = nil
    ) throws -> Resend {
        let push = try Make.push(1, sendBefore: Make.time(10), answerBy: Make.time(20))
        var attempt = Attempt(push)
        attempt.resent = resent
        return Resend(
            Settlement(attempt: attempt, streamID: 1, outcome: outcome), now: Make.time(now), clockSkew: clockSkew)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let outcome: Settlement.Outcome
        let reason: Attempt.Resent
        let effect: Resend.Effect
    }

    static let again = [
        Case(
            testDescription: "IdleTimeout", outcome: answer(400, .idleTimeout), reason: .newConnection, effect: .replace
        ),
        Case(testDescription: "Shutdown", outcome: answer(503, .shutdown), reason: .newConnection, effect: .replace),
        Case(
            testDescription: "ExpiredProviderToken", outcome: answer(403, .expiredProviderToken),
            reason: .renewedToken, effect: .renewToken(apnsDate: nil)),
        Case(
            testDescription: "TooManyProviderTokenUpdates", outcome: answer(429, .tooManyProviderTokenUpdates),
            reason: .keptToken, effect: .keepToken),
    ]

    private static func answer(_ status: Int, _ reason: APNSReason.Known) -> Settlement.Outcome {
        .answered(PushAnswer(status: status, reason: .known(reason)))
    }

    @Test(arguments: again)
    func `a definite not-processed is sent again once, in time`(example: Case) throws {
        let first = try resend(example.outcome)
        #expect(first.effect == example.effect)
        guard case .again(let attempt) = first.fate else { throw Make.Missing() }
        #expect(attempt.resent == example.reason)
        guard case .complete = try resend(example.outcome, example.reason).fate else { throw Make.Missing() }
        guard case .complete = try resend(example.outcome, [], at: 10).fate else { throw Make.Missing() }
    }

    @Test func `what the peer did not process is sent again a few times, in time`() throws {
        let push = try Make.push(1, sendBefore: Make.time(10), answerBy: Make.time(20))
        var attempt = Attempt(push)
        func resend(at now: Double) -> Resend {
            Resend(Settlement(attempt: attempt, streamID: 1, outcome: .refused("x")), now: Make.time(now))
        }
        for _ in 0..<Attempt.maximumRefusals {
            guard case .complete(.failure) = resend(at: 10).fate else { throw Make.Missing() }
            guard case .again(let next) = resend(at: 9).fate else { throw Make.Missing() }
            #expect(next.wasResent && resend(at: 9).effect == .none)
            attempt = next
        }
        guard case .complete(.failure(let failure)) = resend(at: 9).fate else { throw Make.Missing() }
        #expect(failure == PushFailure(.refusedByPeer, "x"))
    }

    @Test func `a token that is called invalid while our clock is ahead is put down to the clock, once`() throws {
        let date = UnixTime(seconds: 1_790_000_000)
        let invalid = Settlement.Outcome.answered(
            PushAnswer(status: 403, reason: .known(.invalidProviderToken), date: date))
        let first = try resend(invalid, clockSkew: .seconds(-61))
        #expect(first.effect == .correctToken(apnsDate: date))
        guard case .again(let attempt) = first.fate else { throw Make.Missing() }
        guard case .complete = try resend(invalid, attempt.resent, clockSkew: .seconds(-61)).fate else {
            throw Make.Missing()
        }
        for skew in [nil, Duration.seconds(-60), .zero, .seconds(7200)] {
            let other = try resend(invalid, clockSkew: skew)
            guard case .complete = other.fate, other.effect == .none else { throw Make.Missing() }
        }
    }

    @Test func `a fresh token that is called expired does not replace another connection`() throws {
        #expect(try resend(Self.answer(403, .expiredProviderToken), .renewedToken).effect == .none)
    }

    @Test(
        arguments: [
            (200, nil), (410, .unregistered), (400, .badDeviceToken), (429, .tooManyRequests),
            (503, .serviceUnavailable),
            (403, .invalidProviderToken), (500, .internalServerError), (413, .payloadTooLarge),
        ] as [(Int, APNSReason.Known?)])
    func `every other answer goes to the caller`(status: Int, reason: APNSReason.Known?) throws {
        let answer = PushAnswer(status: status, reason: reason.map(APNSReason.known))
        let result = try resend(.answered(answer))
        guard case .complete(.success(answer)) = result.fate else { throw Make.Missing() }
        #expect(result.effect == .none)
    }

    @Test func `what left without an answer is never sent again`() throws {
        guard case .complete(.failure(let failure)) = try resend(.unknown("lost")).fate else { throw Make.Missing() }
        #expect(failure == PushFailure(.unknownFate, "lost"))
    }
}
