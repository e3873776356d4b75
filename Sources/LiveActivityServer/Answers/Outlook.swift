import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The outlook on phones, by the same decision that delivery makes. Everything that the API says about phones comes
/// from here.
struct Outlook {
    enum Course: Sendable, Equatable {
        case start, update, fallback, pending, none
    }

    /// The course on one phone, and its reason.
    struct Verdict {
        var course: Course
        var reason: LiveActivityAPI.Reason
    }

    private let desired: DesiredSituation?
    private let laneReason: LiveActivityCore.Reason?
    private let now: UnixTime
    /// Pushes from this time on count as effects of the call that is being answered.
    private let since: UnixTime?

    init(_ state: ActivityState, app: AppSettings, now: UnixTime, since: UnixTime?) {
        self.now = now
        self.since = since
        laneReason = state.waitReason
        if let type = app.types[state.record.type] {
            let content =
                state.content
                ?? ContentRecord(
                    activity: state.record.number, revision: 0, state: .empty, digest: 0, attributes: .empty,
                    attributesDigest: 0)
            desired = state.desired(type, content)
        } else {
            desired = nil
        }
    }

    func verdict(on phone: PhoneSituation) -> Verdict {
        guard let desired else {
            return Verdict(
                course: .none,
                reason: .init(code: "type-not-configured", text: "this activity type is no longer configured"))
        }
        let decision = Reconciler.decide(desired, phone, now: now)
        let reason = decision.reason
        switch decision {
        case .wait where wasTold(phone), .nothing where wasTold(phone):
            return Verdict(course: .fallback, reason: .init(LiveActivityCore.Reason(.alertByNotification)))
        case .send(let plan):
            // A fault that does not concern single phones holds back every phone that is behind.
            if let laneReason { return Verdict(course: .pending, reason: .init(laneReason)) }
            return Verdict(course: plan.kind == .start ? .start : .update, reason: .init(reason))
        case .fallBack: return Verdict(course: .fallback, reason: .init(reason))
        case .wait where reason.code == .upToDate || reason.code == .localAhead:
            return Verdict(course: sent(phone) ?? .none, reason: .init(reason))
        case .wait:
            return Verdict(course: sent(phone) ?? (reason.code == .starting ? .start : .pending), reason: .init(reason))
        case .nothing where reason.code == .channelCurrent:
            let course = sent(phone) ?? (wasBroadcast(to: phone) ? Course.update : Course.none)
            return Verdict(course: course, reason: .init(reason))
        case .nothing:
            return Verdict(course: sent(phone) ?? Self.course(of: reason.code), reason: .init(reason))
        }
    }

    /// Returns the reason for what happens on a phone. If the phone's card has an update token although the type's
    /// `delivery` takes channels, the text says why.
    func reason(on phone: PhoneSituation) -> LiveActivityAPI.Reason {
        var reason = verdict(on: phone).reason
        // The reason of a start says it itself.
        guard phone.card.state.mayHaveCard, phone.card.subscription == nil,
            reason.code != LiveActivityCore.Reason.Code.firstState.rawValue,
            case .token(let cause?)? = desired?.routeOfApp(on: phone.device)
        else { return reason }
        reason.text += "; a card that starts here gets an update token, because \(cause.text)"
        return reason
    }

    /// Returns what was already sent because of the call that is being answered. Delivery may be faster than the
    /// answer.
    private func sent(_ phone: PhoneSituation) -> Course? {
        guard let since, let last = phone.card.last, last.at >= since, last.status == 200,
            last.revision == desired?.activity.revision
        else { return nil }
        return last.kind == .start ? .start : .update
    }

    /// Returns `true` if the phone got the alert by a notification because of the call that is being answered.
    private func wasTold(_ phone: PhoneSituation) -> Bool {
        guard let since, let activity = desired?.activity, activity.alertsEachPhone, activity.changedAt >= since,
            phone.card.subscription != nil, phone.card.alerts.given >= activity.revision, sent(phone) == nil
        else { return false }
        return activity.alert?.revision == activity.revision
    }

    /// Returns `true` if the state reached the phone's channel because of the call that is being answered.
    private func wasBroadcast(to phone: PhoneSituation) -> Bool {
        guard let since, let desired, let channel = phone.card.subscription.flatMap(desired.channel),
            channel.key.run == desired.activity.run, let lastAt = channel.lastAt
        else { return false }
        return lastAt >= since && channel.sentRevision == desired.activity.revision
    }

    /// Returns the course of a phone that gets nothing now. It is `pending` if something normally follows: a token, a
    /// card, or the app.
    private static func course(of code: LiveActivityCore.Reason.Code) -> Course {
        switch code.prospect {
        case .passing: code == .starting ? .start : .pending
        case .awaitsOthers: .pending
        case .settled, .awaitsState, .closed: code == .fellBack ? .fallback : .none
        }
    }

    /// Sorts reasons by frequency, and equal ones by name, so that an answer is the same each time.
    static func reasons(_ counts: [String: Int]) -> [ActivityAnswer.ReasonCount] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { .init(reason: $0.key, count: $0.value) }
    }
}

extension ActivityState {
    /// The reason why a lane waits. A lane's row keeps the reason of its last failure after nothing is left to send.
    var waitReason: LiveActivityCore.Reason? { lanes.lazy.filter { $0.nextAt != nil }.compactMap(\.reason).first }
}

extension LiveActivityAPI.Reason {
    init(_ reason: LiveActivityCore.Reason) {
        self.init(code: reason.code.rawValue, text: reason.text)
    }
}
