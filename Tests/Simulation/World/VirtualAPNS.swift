import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// Apple's service: the destinations of all tokens, and its state of health.
struct VirtualAPNS {
    enum Weather: String, CaseIterable {
        case fair, errors, silence, slow, refusing, crowded, keyRefused
    }

    struct Destination {
        enum Kind { case start, device, card(String) }

        var kind: Kind
        var phone: Int
        var installation: Int
        var app: BundleID
        var environment: APNSEnvironment
        /// True time from which the token is invalid.
        var invalidAt: Int64?
        /// True time from which APNs knows that, and answers 410.
        var refusedAt: Int64?
    }

    var weather = Weather.fair
    var tokens: [String: Destination] = [:]
    private var made = 0

    /// Issues a new token for a destination.
    mutating func issue(_ kind: Destination.Kind, _ phone: Phone) -> String {
        made += 1
        let hex = Sample.token("\(made) of \(phone.device)", as: UpdateTokenKind.self).hex
        tokens[hex] = Destination(
            kind: kind, phone: phone.index, installation: phone.installation, app: phone.app.bundleID,
            environment: phone.environment)
        return hex
    }

    /// Invalidates the token. APNs learns of that after the delay.
    mutating func withdraw(_ hex: String?, at now: Int64, knownAfter delay: Int64) {
        guard let hex, tokens[hex]?.invalidAt == nil else { return }
        tokens[hex]?.invalidAt = now
        tokens[hex]?.refusedAt = now + delay
    }
}

extension World {
    /// Fate of a push before APNs has looked at it.
    private enum Fate {
        case answered(after: Int64)
        case status(Int, APNSReason.Known, after: Int64)
        /// No answer comes, although APNs may take the push, at once or later.
        case lost(arrivesAfter: Int64?, saidAfter: Int64?)
        case notConnected(after: Int64)
        case refusedByPeer
    }

    private func fate(of push: Push) -> Fate {
        guard !isCalm else { return .answered(after: 20) }
        let quick = Int64(5 + dice.roll(120))
        // Sometimes the answer takes longer than anybody waits.
        let slow: Int64 = dice.roll(6) == 0 ? pick([1490, 2000, 5000, 9000, 11_900]) : 10
        // Alerts are refused late more often than chance would have it, because much depends on it.
        if observer.push(push.request.id)?.card?.seat.plan.carriesAlert ?? false, dice.roll(12) == 0 {
            return .status(503, .serviceUnavailable, after: pick([1600, 3000, 8000]))
        }
        switch apns.weather {
        case .errors where dice.chance(85):
            return .status(
                dice.pick([500, 503]), dice.pick([.internalServerError, .serviceUnavailable]), after: slow)
        case .silence where dice.chance(70):
            return .lost(arrivesAfter: dice.chance(50) ? quick : nil, saidAfter: nil)
        case .slow where dice.chance(70): return .answered(after: pick([1400, 1600, 6000, 11_000]))
        case .refusing where dice.chance(85):
            return dice.chance(70) ? .notConnected(after: slow > 10 ? slow : 0) : .refusedByPeer
        case .crowded where dice.chance(50): return .status(429, .tooManyRequests, after: slow)
        case .keyRefused where dice.chance(95): return .status(403, .invalidProviderToken, after: slow)
        default: break
        }
        switch dice.roll(100) {
        case 0..<3: return .answered(after: pick([1490, 1510, 4000, 11_500]))
        case 3..<5: return .lost(arrivesAfter: quick, saidAfter: quick * 3)
        case 5..<6: return .lost(arrivesAfter: nil, saidAfter: quick * 3)
        // A push that was in the network when the connection broke arrives very late.
        case 6..<7: return .lost(arrivesAfter: pick([3000, 12_500, 30_000]), saidAfter: pick([50, 2000]))
        case 7..<8: return .lost(arrivesAfter: quick, saidAfter: nil)
        case 8..<9: return .refusedByPeer
        case 9..<11: return .status(429, .tooManyRequests, after: slow)
        case 11..<12: return .status(503, .serviceUnavailable, after: slow)
        case 12..<13: return .notConnected(after: slow)
        default: return .answered(after: quick)
        }
    }

    /// Sends a push of a process: it waits, leaves if it still may, and is answered once.
    func send(_ push: Push, from node: Node, _ done: @escaping (Result<PushAnswer, PushFailure>) -> Void) {
        see(.submitted(push.request.id))
        let fate = fate(of: push)
        note(fate)
        let waits: Int64 = chance(40, in: 1000) ? pick([300, 3000, 7500, 9500]) : 0
        var isDone = false
        func finish(_ result: Result<PushAnswer, PushFailure>) {
            guard !isDone, node.isAlive else { return }
            isDone = true
            done(result)
        }
        after(max(0, milliseconds(of: push.answerBy) - now), in: node) {
            finish(.failure(PushFailure(.unknownFate, "no answer in time")))
        }
        after(waits, in: node) { [self] in
            guard !isDone else { return }
            guard now < milliseconds(of: push.sendBefore) else {
                return finish(.failure(PushFailure(.notSentInTime, "it waited too long")))
            }
            leave(push, fate, from: node, finish)
        }
    }

    private func note(_ fate: Fate) {
        switch fate {
        case .answered(let after): if after > 1000 { count(.answerLate) }
        case .status(let status, _, let after):
            if after > 1000 { count(.refusedLate) }
            count(status == 429 ? .slowDown : status == 403 ? .keyRefused : .stormOf5xx)
        case .lost(let arrives, _):
            count(arrives.map { $0 > 1000 } ?? false ? .answerLostAndLateArrival : .answerLost)
        case .notConnected(let after):
            if after > 1000 { count(.notConnectedLate) }
            count(.notConnected)
        case .refusedByPeer: count(.goAway)
        }
    }

    private func milliseconds(of time: MonotonicTime) -> Int64 { time.nanoseconds / 1_000_000 - 1000 }

    private func leave(
        _ push: Push, _ fate: Fate, from node: Node, _ finish: @escaping (Result<PushAnswer, PushFailure>) -> Void
    ) {
        switch fate {
        case .notConnected(let delay):
            after(delay, in: node) { finish(.failure(PushFailure(.cannotConnect, "refused"))) }
            return
        case .refusedByPeer: return finish(.failure(PushFailure(.refusedByPeer, "GOAWAY")))
        case .answered, .status, .lost: break
        }
        if let sent = observer.push(push.request.id) { see(.left(sent, node, push: push)) }
        count { counts in
            if case .device = push.request.destination { counts.notifications += 1 } else { counts.pushes += 1 }
        }
        let travel: Int64 = isCalm ? 1 : Int64(1 + dice.roll(20))
        switch fate {
        case .answered(let delay):
            after(travel) { [self] in
                let answer = take(push)
                after(delay, in: node) { finish(.success(answer)) }
            }
        case .status(let status, let reason, let delay):
            note("APNs", "\(status) to \(words(push))")
            after(travel + delay, in: node) { finish(.success(PushAnswer(status: status, reason: .known(reason)))) }
        case .lost(let arrives, let said):
            if let arrives {
                after(arrives) { [self] in
                    note("APNs", "its answer gets lost:")
                    _ = take(push)
                }
            } else {
                note("APNs", "never sees \(words(push))")
            }
            if let said { after(said, in: node) { finish(.failure(PushFailure(.unknownFate, "connection lost"))) } }
        case .notConnected, .refusedByPeer: break
        }
    }

    private func words(_ push: Push) -> String { observer.push(push.request.id)?.words ?? "a push nobody claimed" }

    /// Records that a card is over after an answer to its end.
    ///
    /// A dead token counts as well, because only the phone could name another one.
    private func noteEnd(_ push: Push, _ destination: VirtualAPNS.Destination) {
        guard case .card(let local) = destination.kind,
            observer.push(push.request.id)?.card?.seat.plan.kind == .end
        else { return }
        phones[destination.phone].endTaken.insert(local)
    }

    /// Answers a push as APNs does, and passes it on to the phone.
    private func take(_ push: Push) -> PushAnswer {
        guard let destination = apns.tokens[push.request.destination.hex],
            destination.environment == push.request.environment
        else { return refuse(push, .badDeviceToken) }
        guard destination.app == push.request.topic.bundleID else { return refuse(push, .deviceTokenNotForTopic) }
        if let refusedAt = destination.refusedAt, refusedAt <= now {
            noteEnd(push, destination)
            return refuse(push, .expiredToken, since: Sample.now + .milliseconds(destination.invalidAt ?? refusedAt))
        }
        note("APNs", "takes \(words(push))")
        let phone = phones[destination.phone]
        if let sent = observer.push(push.request.id) {
            see(.accepted(sent))
            noteEnd(push, destination)
        }
        guard destination.invalidAt == nil else { return PushAnswer(status: 200) }
        if phone.isOnline {
            let delay: Int64 = isCalm ? 5 : pick([5, 5, 20, 200, 3000])
            after(delay) { [self] in arrive(push, at: destination) }
        } else {
            // APNs stores one notification for each app on a device: the latest.
            phone.stored = (push, destination)
        }
        return PushAnswer(status: 200)
    }

    private func refuse(_ push: Push, _ reason: APNSReason.Known, since time: UnixTime? = nil) -> PushAnswer {
        note("APNs", "\(reason.status) \(reason.rawValue) to \(words(push))")
        count { $0.refusedTokens += 1 }
        return PushAnswer(status: reason.status, reason: .known(reason), inactiveSince: time)
    }

    func arrive(_ push: Push, at destination: VirtualAPNS.Destination) {
        let phone = phones[destination.phone]
        guard phone.isOnline else {
            phone.stored = (push, destination)
            return
        }
        if case .at(let expires) = push.request.expiration, expires < trueTime { return }
        // The installation was deleted while the push was on its way.
        guard phone.installation == destination.installation else { return }
        guard let sent = observer.push(push.request.id) else { return }
        let effect = phone.take(push.request, destination.kind, sent, in: self)
        if case .older = effect { count(.reordered) }
        see(.arrived(sent, phone, effect))
        note(phone.name, "\(effect.words(sent))")
    }
}
