import APNSModel
import JSONText

extension CardDiagnosis {
    /// Returns findings about the last push, APNs's answer to it, and the phone's report.
    func sent(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        let last = phone.card.last
        let push = card.history.first { PushKind.allCases.map(HistoryEntry.Kind.init).contains($0.kind) }
        guard last != nil || push != nil else {
            return phone.card.sentRevision > 0
                ? confirmation(phone)
                : [DiagnosisFinding(.nothingSent, .note, "no push of this activity has been sent to this phone yet")]
                    + confirmation(phone)
        }
        return [lastPush(push, last)] + notHeard(phone, push?.at ?? last?.at) + confirmation(phone)
    }

    private func lastPush(_ push: HistoryEntry?, _ last: LastDelivery?) -> DiagnosisFinding {
        let outcome = push?.outcome ?? last?.reason
        let kind = push?.kind.name ?? last?.kind.name ?? ""
        let at = push?.at ?? last?.at ?? now
        var evidence: JSONObject = [
            "kind": .string(kind), "at": .string(at.description),
            "revision": .number(JSONNumber(Int(push?.revision ?? last?.revision ?? 0))),
            "status": .number(JSONNumber(push?.status ?? last?.status ?? 0)),
            "code": .string(outcome?.code.rawValue ?? ""),
        ]
        if let push {
            evidence["priority"] = .number(JSONNumber(push.priority))
            evidence["alert"] = .bool(push.carriesAlert)
            evidence["timestamp"] = .number(JSONNumber(Int(push.timestamp)))
            evidence["apnsID"] = push.pushID.map { .string($0.description) }
            evidence["why"] = push.reason.map { .string($0.code.rawValue) }
        }
        let isWell = outcome?.code == .accepted
        return DiagnosisFinding(
            .lastPush, isWell ? .note : .warning, "the last push (\(kind)): \(outcome?.text ?? "no outcome")",
            evidence: evidence)
    }

    private func notHeard(_ phone: PhoneSituation, _ sentAt: UnixTime?) -> [DiagnosisFinding] {
        guard let sentAt, phone.device.contactAt < sentAt else { return [] }
        return [
            DiagnosisFinding(
                .notHeardSince, .note,
                "the phone has not been in touch since the last push; this is usual, because updates do not wake the "
                    + "app",
                evidence: [
                    "contactAt": .string(phone.device.contactAt.description), "sentAt": .string(sentAt.description),
                ])
        ]
    }

    private func confirmation(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        let card = phone.card
        let evidence: JSONObject = [
            "sent": .number(JSONNumber(Int(card.sentRevision))),
            "shown": .number(JSONNumber(Int(card.shownRevision))),
            "contradictions": .number(JSONNumber(card.revisions.contradictions)),
        ]
        let contradictions = card.revisions.contradictions
        if contradictions > 0 {
            let isLast = contradictions >= Reconciler.maximumContradictions
            return [
                DiagnosisFinding(
                    .confirmationContradicted, isLast ? .blocked : .warning,
                    "the phone reported another state than it was sent, \(contradictions) times: the app may be "
                        + "unable to decode the state, or iOS ignored the push because of its timestamp",
                    fix: "compare the state with the app's `ContentState` (names, types, dates as seconds since "
                        + "2001-01-01)", evidence: evidence)
            ]
        }
        if card.shownRevision > 0, card.shownRevision >= card.sentRevision {
            return [
                DiagnosisFinding(
                    .confirmationHeld, .note, "the phone reported that it holds revision \(card.shownRevision)",
                    evidence: evidence)
            ]
        }
        if card.sentRevision > 0 {
            return [
                DiagnosisFinding(
                    .confirmationAccepted, .note,
                    "APNs accepted revision \(card.sentRevision), which does not mean that it is shown; the phone "
                        + "has not reported since", evidence: evidence)
            ]
        }
        return [
            DiagnosisFinding(
                .confirmationUnknown, .note, "what the phone shows is unknown", evidence: evidence)
        ]
    }
}

/// Severity of a decision that sends nothing, and advice on it.
enum DecisionWords {
    static func severity(of code: Reason.Code) -> DiagnosisFinding.Severity {
        switch code.prospect {
        case .settled: .note
        case .passing, .awaitsState: .waiting
        case .awaitsOthers, .closed: .blocked
        }
    }

    static func fix(of code: Reason.Code) -> String? {
        switch code {
        case .startUnconfirmed, .startFateUnknown:
            "the person must tap Allow on the lock screen, or open the app, which then reports its cards: "
                + "PUT /v1/devices/{device}/instances; a second start would be a second card"
        case .waitingForUpdateToken:
            "the app must report the card's update token: PUT /v1/devices/{device}/instances/{localID}"
        case .updateTokenDead: "the app must report the next token from iOS"
        case .belowPushToStart, .appOnly: "the app must start the card itself and report it"
        case .activitiesDisabled: "the person must allow Live Activities in Settings"
        case .noPushToStartToken, .pushToStartTokenDead:
            "the app must report its push-to-start token: PUT /v1/devices/{device}/push-to-start-tokens/{type}"
        case .startNever: "set the activity with `start: ifPossible`"
        case .noStartAlert: "give an `alert`, or `startAlert` in the type's policy: iOS drops a start without one"
        case .otherStartOpen:
            "give the type an `activityIDAttribute`, so that the server can tell its cards apart; or let the app "
                + "report its cards"
        case .personDismissed, .cardGone, .cardEnded:
            "set the activity with `restart: always`, or `onAlert` and an alert, to show the card again"
        case .signedOut: "the app must register again when somebody signs in"
        case .notAnnounced: "set a state: PUT /v1/activities/{activity}"
        case .otherDeviceActive: "set the activity with `devices: all`"
        case .leftAudience: "add the person to the audience"
        case .parked, .payloadRefused: "set another state"
        case .halted, .notConfigured: "correct the key, its environment or its topic: `islet doctor` says which"
        default: nil
        }
    }
}
