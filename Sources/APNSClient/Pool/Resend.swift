import APNSModel

/// What the client itself makes of an outcome: pure.
///
/// It sends again only what APNs, or the peer's HTTP/2, definitely did not process (so a start may be repeated too),
/// for each of APNs's reasons once, for HTTP/2's `Attempt.maximumRefusals` times, and only while the push may still
/// leave. Everything else goes to the caller.
struct Resend {
    /// What the outcome says about the connection it came from.
    enum Effect: Hashable {
        case none
        /// It opens no stream any more.
        case replace
        /// Its provider token expired.
        case renewToken(apnsDate: UnixTime?)
        /// Its provider token was issued in the future, because our clock is ahead.
        case correctToken(apnsDate: UnixTime)
        /// Its provider token changed too often.
        case keepToken
    }

    enum Fate {
        case complete(Result<PushAnswer, PushFailure>)
        case again(Attempt)
    }

    let fate: Fate
    let effect: Effect

    /// How far our clock may be ahead of APNs's before a refused provider token is put down to it.
    static let clockTolerance = Duration.seconds(60)

    /// - Parameter clockSkew: How far APNs's clock is ahead of ours, where it is known.
    init(_ settlement: Settlement, now: MonotonicTime, clockSkew: Duration? = nil) {
        let attempt = settlement.attempt
        switch settlement.outcome {
        case .answered(let answer):
            if answer.reason == .known(.invalidProviderToken), let date = answer.date, let clockSkew,
                clockSkew < .zero - Self.clockTolerance
            {
                self.init(attempt, .renewedToken, .correctToken(apnsDate: date), answer, now)
            } else {
                self.init(attempt, answer, now)
            }
        case .refused(let detail): self.init(attempt, refused: detail, now)
        case .unknown(let detail): self.init(.complete(.failure(PushFailure(.unknownFate, detail))))
        }
    }

    private init(_ attempt: Attempt, refused detail: String, _ now: MonotonicTime) {
        effect = .none
        guard attempt.refusals < Attempt.maximumRefusals, now < attempt.sendBefore else {
            fate = .complete(.failure(PushFailure(.refusedByPeer, detail)))
            return
        }
        var again = attempt
        again.refusals += 1
        fate = .again(again)
    }

    private init(_ attempt: Attempt, _ answer: PushAnswer, _ now: MonotonicTime) {
        switch answer.verdict {
        case .newConnection: self.init(attempt, .newConnection, .replace, answer, now)
        case .keepProviderToken: self.init(attempt, .keptToken, .keepToken, answer, now)
        case .renewProviderToken:
            // A token that is fresh and still "expired" is not mended by yet another connection.
            let effect: Effect = attempt.resent.contains(.renewedToken) ? .none : .renewToken(apnsDate: answer.date)
            self.init(attempt, .renewedToken, effect, answer, now)
        case .accepted, .tokenDead, .slowDown, .serviceTrouble, .halted, .requestRefused:
            self.init(.complete(.success(answer)))
        }
    }

    private init(_ fate: Fate) {
        self.fate = fate
        effect = .none
    }

    private init(
        _ attempt: Attempt, _ reason: Attempt.Resent, _ effect: Effect, _ answer: PushAnswer, _ now: MonotonicTime
    ) {
        self.effect = effect
        guard !attempt.resent.contains(reason), now < attempt.sendBefore else {
            fate = .complete(.success(answer))
            return
        }
        var again = attempt
        again.resent.insert(reason)
        fate = .again(again)
    }
}
