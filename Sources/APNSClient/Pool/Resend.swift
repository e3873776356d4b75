import APNSModel

/// The decision of the client about an outcome: send again, or complete.
///
/// The client sends a push again only if APNs or the peer's HTTP/2 definitely did not process it, so even a start may
/// be repeated. It does so once for each reason of APNs, and `Attempt.maximumRefusals` times for HTTP/2, while the push
/// may still leave. Every other outcome goes to the caller.
struct Resend {
    /// The consequence of the outcome for its connection.
    enum Effect: Hashable {
        case none
        /// The connection opens no more streams.
        case replace
        /// The connection's provider token expired.
        case renewToken(apnsDate: UnixTime?)
        /// The connection's provider token was issued in APNs's future, because the local clock is ahead.
        case correctToken(apnsDate: UnixTime)
        /// The connection's provider token changed too often.
        case keepToken
    }

    enum Fate {
        case complete(Result<PushAnswer, PushFailure>)
        case again(Attempt)
    }

    let fate: Fate
    let effect: Effect

    /// Difference by which the local clock must be ahead of APNs's before it explains a refused provider token.
    static let clockTolerance = Duration.seconds(60)

    /// - Parameter clockSkew: Difference of APNs's clock to the local clock, if known. Positive if APNs's clock is
    ///   ahead.
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
            // If a fresh token still counts as expired, another connection does not help.
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
