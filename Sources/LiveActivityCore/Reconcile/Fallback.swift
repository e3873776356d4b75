package import APNSModel
import JSONText

/// Rules for an ordinary notification in place of a card that cannot be shown, or of an alert that no broadcast brings.
///
/// A person never gets both a card and a notification in its place for one state:
///
/// - A notification is sent only where no card exists and none is on its way. A start that was accepted, or whose fate
///   is unknown, may be a card, even if no phone ever reports it.
/// - After a notification, no card is started for the same state, even if one becomes possible a moment later. The next
///   state starts one.
package enum Fallback {
    /// Returns the template of the notification: the activity's own, or else its type's; `nil` if there is none.
    package static func template(_ desired: DesiredSituation) -> AlertTemplate? {
        if let own = desired.activity.fallback { return try? AlertTemplate(parsing: own) }
        return desired.type.policy.fallback
    }

    /// Returns the payload of a notification for this state. It is the same for every phone.
    ///
    /// - Returns: `nil` if there is no template.
    /// - Throws: `PayloadError` if the payload cannot be built.
    package static func payload(
        _ desired: DesiredSituation, _ content: ContentRecord
    ) throws(PayloadError) -> AlertPayload? {
        guard let template = template(desired) else { return nil }
        return try AlertPayload(template.filled(with: content).alert, data: data(of: desired))
    }

    /// Returns the notification's expiration: that of the alert it replaces, or else one hour from now.
    ///
    /// It is never earlier than the start window, the time for which a start would wait.
    package static func expiration(_ desired: DesiredSituation, now: UnixTime) -> UnixTime {
        let least = now + desired.type.policy.startWindow
        guard let alert = desired.activity.alert else { return max(least, now + lifetime) }
        return max(least, alert.expiresAt)
    }

    /// Lifetime of a notification for the first state of a run, which carries no alert of its own.
    static let lifetime = Duration.seconds(3600)

    /// Returns `true` if a notification has told the phone's person this state.
    static func hasTold(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Bool {
        phone.card.run == desired.activity.run && phone.card.alerts.told != nil
            && desired.activity.revision <= phone.card.alerts.given
    }

    /// Returns `true` if a card would have said something now: the first state of a run, or an alert.
    static func isDue(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Bool {
        guard desired.activity.fallback != nil || desired.type.policy.fallback != nil,
            NotificationRecord.Kind.alert.obstacle(phone.device, phone.deviceToken) == nil
        else { return false }
        // No card would be started on a person's other devices either.
        let card = phone.card
        guard desired.activity.mayStart(card, on: phone.device.id) else { return false }
        let hadNone = !card.state.mayHaveCard && card.life.before == nil
        let isFirst = card.run != desired.activity.run || hadNone && card.alerts.told == nil
        return isFirst || Reconciler.dueAlert(desired, phone, now) > 0
    }

    /// Returns `true` if the phone gets the newest alert by a notification, because its card is on a channel whose
    /// broadcasts bring none.
    ///
    /// A start that is on its way brings the alert of its state itself, or is answered soon.
    static func isAlertDue(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Bool {
        let (activity, card) = (desired.activity, phone.card)
        guard owesAlert(activity, to: card, now), phone.isWanted, !card.isEvicted, let id = card.subscription else {
            return false
        }
        switch card.state {
        case .live, .ending, .unconfirmed: break
        case .starting: guard let due = card.attempts.dueAt, due <= now else { return false }
        case .absent, .requesting, .ended, .dismissed, .gone: return false
        }
        // Nothing tells a channel of the app's own from one that APNs has forgotten. The server sends nothing to it.
        guard desired.channel(id)?.key.run == activity.run else { return false }
        return NotificationRecord.Kind.alert.obstacle(phone.device, phone.deviceToken) == nil
    }

    /// Returns `true` if the card is on a channel, whose broadcasts do not bring the newest alert, and the person was
    /// not given it.
    static func owesAlert(_ activity: ActivityRecord, to card: CardMachine, _ now: UnixTime) -> Bool {
        guard card.subscription != nil, card.run == activity.run, !activity.passesChannelsOver(at: now) else {
            return false
        }
        return activity.alert.map { $0.revision > card.alerts.given } ?? false
    }

    /// Returns the payload of a notification that brings an alert alone.
    ///
    /// - Throws: `PayloadError` if the payload cannot be built.
    static func alertPayload(_ alert: AlertRecord, _ desired: DesiredSituation) throws(PayloadError) -> AlertPayload {
        try AlertPayload(alert.alert, data: data(of: desired))
    }

    /// Returns what the app finds in the notification beside its text.
    private static func data(of desired: DesiredSituation) -> JSONObject {
        ["islet": ["activity": .string(desired.activity.id.text), "type": .string(desired.type.name)]]
    }

    /// Returns the decision about a start that Islet itself holds back. A card after the start window would be too
    /// late, so a notification replaces it then.
    static func held(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime, until: UnixTime, _ reason: Reason
    ) -> Decision {
        guard isDue(desired, phone, now) else { return .wait(until: until, reason) }
        let late = max(desired.activity.changedAt, phone.card.createdAt) + desired.type.policy.startWindow
        return now < late ? .wait(until: min(until, late), reason) : .fallBack(reason)
    }
}
