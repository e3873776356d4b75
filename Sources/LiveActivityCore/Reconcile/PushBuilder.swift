package import APNSModel

/// Makes the bytes of a decided push when it is sent. What waits is never bytes.
package enum PushBuilder {
    /// Returns the request of a push.
    ///
    /// - Returns: `nil` if its token is missing.
    /// - Throws: `PayloadError` if the payload cannot be built. The phone is then parked for this revision.
    package static func request(
        _ plan: PushPlan, desired: DesiredSituation, content: ContentRecord, phone: PhoneSituation,
        timestamp: Int64, id: PushID
    ) throws(PayloadError) -> PushRequest? {
        let activity = desired.activity
        let time = UnixTime(seconds: timestamp)
        let relevance: RelevanceScore? = if let value = activity.relevance { try RelevanceScore(value) } else { nil }
        let alert = plan.carriesAlert ? activity.alert?.alert : nil
        // iOS does not present a card whose stale date has already passed when it arrives.
        let stale = activity.staleDate(policy: desired.type.policy).flatMap { $0.seconds > timestamp ? $0 : nil }
        switch plan.kind {
        case .start:
            guard let token = phone.pushToStartToken, let value = try? PushToStartToken(hex: token.value.hex) else {
                return nil
            }
            let ownAlert = alert ?? desired.type.policy.startAlert?.filled(with: content).alert
            guard let startAlert = ownAlert ?? activity.alert?.alert else {
                throw .missingAlertTitle
            }
            let silent = PushAlert(title: startAlert.title, body: startAlert.body)
            let wantsInput = phone.device.osVersion.map { $0 >= .inputPush } ?? false
            let payload = try StartPayload(
                timestamp: time, attributesType: desired.type.attributesType, attributes: content.attributes,
                contentState: content.state, alert: plan.part == .successor ? silent : startAlert,
                staleDate: stale ?? time + desired.type.policy.startStaleAfter, relevance: relevance,
                input: plan.channel.map { .channel($0) } ?? (wantsInput ? .updateToken : .unspecified))
            return .start(payload, to: value, envelope(plan, activity, token.environment, id))
        case .update:
            guard let token = phone.updateToken, let value = try? UpdateToken(hex: token.value.hex) else { return nil }
            let payload = try UpdatePayload(
                timestamp: time, contentState: content.state, alert: alert, staleDate: stale, relevance: relevance)
            return .update(payload, to: value, envelope(plan, activity, token.environment, id))
        case .end:
            guard let token = phone.updateToken, let hex = phone.token(of: plan)?.hex,
                let value = try? UpdateToken(hex: hex)
            else { return nil }
            // The newest state is not for a person who left the audience. Nor does it concern a card of an earlier run,
            // a replaced card, or one that makes room. Such a card ends as it stands.
            let isWanted =
                phone.isWanted && phone.card.run == activity.run && plan.part == .card
                && !phone.card.isEvicted
            // A last state that the app cannot decode would keep the card from ending.
            let isFit = !desired.unfit.hasState(phone.device.build)
            let payload = try EndPayload(
                timestamp: time, contentState: isWanted && isFit ? content.state : nil,
                dismissal: isWanted ? activity.endDismissal(policy: desired.type.policy) : .immediate,
                alert: isWanted ? alert : nil,
                relevance: relevance)
            return .end(payload, to: value, envelope(plan, activity, token.environment, id))
        }
    }

    private static func envelope(
        _ plan: PushPlan, _ activity: ActivityRecord, _ environment: APNSEnvironment, _ id: PushID
    ) -> PushRequest.Envelope {
        PushRequest.Envelope(
            bundleID: activity.app, environment: environment, priority: plan.priority,
            expiration: .at(plan.expiresAt), collapseID: collapseID(of: activity.id), id: id)
    }

    /// Returns the activity's id if a header can carry it, or else a digest of it. APNs then coalesces concurrent
    /// starts of one activity.
    package static func collapseID(of id: ActivityID) -> CollapseID? {
        if let direct = CollapseID(id.text) { return direct }
        return CollapseID("islet-" + String(Digest.fnv1a(id.text.utf8), radix: 16))
    }
}

/// A 64-bit digest that tells contents apart. Do not use it where an adversary gains by a collision.
package enum Digest {
    package static func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
