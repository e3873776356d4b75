package import APNSModel
import JSONText

/// When an ordinary notification takes the place of a card that cannot be shown.
///
/// Never both. It goes out only where no card is there and none is on its way: a start that was accepted, or whose fate
/// is unknown, may be a card, so that nothing goes out beside it, however long nobody reports it. And what it said is
/// told: no card is started for that state any more, though a way may open a moment later; the next state starts one.
package enum Fallback {
    /// The template that a notification of this activity says, if there is one.
    package static func template(_ desired: DesiredSituation) -> AlertTemplate? {
        if let own = desired.activity.fallback { return try? AlertTemplate(parsing: own) }
        return desired.type.policy.fallback
    }

    /// The bytes of a notification for this state, whatever phone it goes to.
    ///
    /// - Returns: `nil` when there is no template.
    package static func payload(
        _ desired: DesiredSituation, _ content: ContentRecord
    ) throws(PayloadError) -> AlertPayload? {
        guard let template = template(desired) else { return nil }
        return try AlertPayload(
            template.filled(with: content).alert,
            data: ["islet": ["activity": .string(desired.activity.id.text), "type": .string(desired.type.name)]])
    }

    /// How long it is worth delivering: as long as the alert that it stands for, else as long as a start would wait.
    package static func expiration(_ desired: DesiredSituation, now: UnixTime) -> UnixTime {
        let least = now + desired.type.policy.startWindow
        guard let alert = desired.activity.alert else { return max(least, now + lifetime) }
        return max(least, alert.expiresAt)
    }

    /// For the first state of a run, which brings no alert of its own.
    static let lifetime = Duration.seconds(3600)

    /// The phone was told this state by a notification.
    static func hasTold(_ desired: DesiredSituation, _ phone: PhoneSituation) -> Bool {
        phone.card.run == desired.activity.run && phone.card.alerts.told != nil
            && desired.activity.revision <= phone.card.alerts.given
    }

    /// Something is to be said that a card would have said: the first state of a run, or an alert.
    static func isDue(_ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime) -> Bool {
        guard desired.activity.fallback != nil || desired.type.policy.fallback != nil,
            NotificationRecord.Kind.alert.obstacle(phone.device, phone.deviceToken) == nil
        else { return false }
        // On a person's other devices a card would not be started either.
        let card = phone.card
        guard card.mayStart else { return false }
        let hadNone = !card.state.mayHaveCard && card.life.before == nil
        let isFirst = card.run != desired.activity.run || hadNone && card.alerts.told == nil
        return isFirst || Reconciler.dueAlert(desired, phone, now) > 0
    }

    /// A start that we hold back ourselves: after the start window it could not be shown in time.
    static func held(
        _ desired: DesiredSituation, _ phone: PhoneSituation, _ now: UnixTime, until: UnixTime, _ reason: Reason
    ) -> Decision {
        guard isDue(desired, phone, now) else { return .wait(until: until, reason) }
        let late = max(desired.activity.changedAt, phone.card.createdAt) + desired.type.policy.startWindow
        return now < late ? .wait(until: min(until, late), reason) : .fallBack(reason)
    }
}
