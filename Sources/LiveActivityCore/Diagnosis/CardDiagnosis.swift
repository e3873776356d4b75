import APNSModel
import JSONText

/// Part of a diagnosis that is about one activity.
struct CardDiagnosis {
    let facts: DiagnosisFacts
    let card: DiagnosisFacts.Card

    var now: UnixTime { facts.now }
    var activity: ActivityRecord { card.activity }
    var type: ActivityType? { facts.app.types[activity.type] }

    /// Desired state, with all that delivery knows when it decides; `nil` if the type is not configured or no state is
    /// set.
    var desired: DesiredSituation? {
        guard let type, let content = card.content else { return nil }
        var desired = DesiredSituation(activity, type, content)
        desired.channels = card.channels
        desired.phones = card.phones
        return desired
    }

    var findings: [DiagnosisFinding] {
        var findings = activityFindings
        guard let phone = card.phone else {
            findings.append(
                DiagnosisFinding(
                    .activityNotHere, .blocked, "the activity is not meant for this phone",
                    fix: card.isMember
                        ? "the phone appeared after the activity ended, or belongs to another person"
                        : "add the person to the audience: POST /v1/activities/{activity}/audience"))
            return findings
        }
        findings += decisionFindings(phone) + tokens(phone) + route(phone) + budgets(phone) + sent(phone)
        return findings
    }

    // MARK: - The activity

    private var activityFindings: [DiagnosisFinding] {
        var findings: [DiagnosisFinding] = []
        if !card.isMember, activity.phase != .announced {
            findings.append(
                DiagnosisFinding(
                    .notInAudience, .blocked, "`\(facts.device.userID)` is not in the audience",
                    fix: "add the person: POST /v1/activities/{activity}/audience",
                    evidence: ["user": .string(facts.device.userID.text)]))
        }
        if type == nil {
            findings.append(
                DiagnosisFinding(
                    .typeNotConfigured, .blocked, "the type `\(activity.type)` is no longer configured",
                    fix: "add it to the app in islet.yaml", evidence: ["type": .string(activity.type)]))
        }
        if activity.phase == .ended {
            findings.append(
                DiagnosisFinding(
                    .activityHasEnded, .note, "the activity has ended",
                    fix: "`reopen: true` begins a new run",
                    evidence: ["at": .string((activity.endedAt ?? activity.changedAt).description)]))
        }
        if let type, let stale = activity.staleDate(policy: type.policy), stale <= now, activity.phase == .active {
            findings.append(
                DiagnosisFinding(
                    .stalePassed, .warning,
                    "the stale date has passed: iOS tells the widget that the card may be out of date",
                    fix: "set the state again, with a later `staleAt` or with `staleAfter`",
                    evidence: ["staleAt": .string(stale.description)]))
        }
        return findings + waits + size + contract
    }

    /// Findings that concern the whole lane, not only this phone.
    private var waits: [DiagnosisFinding] {
        var findings: [DiagnosisFinding] = []
        guard let lane = card.lane else { return findings }
        if lane.lap < activity.lap, lane.flight == nil, activity.holdUntil > now {
            findings.append(
                DiagnosisFinding(
                    .coalescing, .waiting,
                    "changes in quick succession are collected: the newest state goes out when the window is over",
                    evidence: ["until": .string(activity.holdUntil.description)]))
        }
        if let reason = lane.reason, let next = lane.nextAt, next > now {
            var evidence: JSONObject = [
                "code": .string(reason.code.rawValue), "tries": .number(JSONNumber(lane.tries)),
            ]
            // A lane that waits for a route has no time of its own.
            if lane.waitsFor == nil { evidence["until"] = .string(next.description) }
            findings.append(DiagnosisFinding(.laneWaits, .waiting, reason.text, evidence: evidence))
        }
        if let flight = lane.flight, mayBe(in: flight) {
            findings.append(
                DiagnosisFinding(
                    .inFlight, .waiting, "pushes to a range of phones that may include this one are on their way",
                    evidence: [
                        "claimedAt": .string(flight.claimedAt.description),
                        "revision": .number(JSONNumber(Int(flight.revision))),
                    ]))
        }
        return findings
    }

    private func mayBe(in flight: FlightRecord) -> Bool {
        let key = facts.device.key
        return flight.devices?.contains(key) ?? (flight.fromDevice...flight.toDevice).contains(key)
    }

    private var size: [DiagnosisFinding] {
        guard let content = card.content, activity.phase != .announced else { return [] }
        let limit = PushType.liveactivity.maximumPayloadBytes
        let bytes: Int
        do throws(PayloadError) {
            bytes = try UpdatePayload(
                timestamp: now, contentState: content.state, alert: activity.alert?.alert,
                staleDate: activity.staleAt ?? now, relevance: nil
            ).bytes.count
        } catch {
            return [
                DiagnosisFinding(
                    .payloadSize, .blocked, "the payload cannot be built: \(error)", fix: "send a smaller state")
            ]
        }
        return [
            DiagnosisFinding(
                .payloadSize, bytes * 10 > limit * 9 ? .warning : .note, "an update has \(bytes) of \(limit) bytes",
                evidence: [
                    "bytes": .number(JSONNumber(bytes)), "limit": .number(JSONNumber(limit)),
                    "state": .number(JSONNumber(content.state.bytes.count)),
                ])
        ]
    }

    /// Finding about a missing contract. iOS drops an update that its Swift type cannot decode, although APNs answers
    /// 200.
    private var contract: [DiagnosisFinding] {
        guard let type, type.contract == nil else { return [] }
        return [
            DiagnosisFinding(
                .noContract, .note,
                "the type has no contract, so the server cannot check that the app can decode the state; iOS drops a "
                    + "state that the app cannot decode, although APNs answers 200",
                fix: "give the type a `contract` in islet.yaml")
        ]
    }

    // MARK: - The decision

    private func decisionFindings(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        guard let desired else { return [] }
        let decision = Reconciler.decide(desired, phone, now: now)
        let reason = decision.reason
        var evidence: JSONObject = [
            "state": .string(phone.card.state.name),
            "wanted": .number(JSONNumber(Int(activity.revision))),
            "sent": .number(JSONNumber(Int(phone.card.sentRevision))),
            "shown": .number(JSONNumber(Int(phone.card.shownRevision))),
        ]
        let severity: DiagnosisFinding.Severity
        switch decision {
        case .send(let plan):
            severity = .waiting
            evidence["next"] = .string("\(plan.kind.name), priority \(plan.priority.rawValue)")
        case .wait(let until, _):
            severity = .waiting
            evidence["until"] = .string(until.description)
        case .fallBack:
            severity = .waiting
            let isAlert = reason.code == .alertByNotification
            evidence["next"] = .string("an ordinary notification \(isAlert ? "with the alert" : "in the card's place")")
        case .nothing: severity = DecisionWords.severity(of: reason.code)
        }
        for (index, argument) in reason.arguments.enumerated() where !argument.isEmpty {
            evidence["argument\(index + 1)"] = .string(argument)
        }
        return [
            DiagnosisFinding(
                id: reason.code.rawValue, severity, reason.text, fix: DecisionWords.fix(of: reason.code),
                evidence: evidence)
        ] + parked(phone)
    }

    private func parked(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        let card = phone.card
        guard card.revisions.parked > 0, card.revisions.parked >= activity.revision else { return [] }
        let last = card.last
        return [
            DiagnosisFinding(
                .parked, .blocked,
                "this revision is parked: \(last?.reason.text ?? "APNs refused our request")",
                fix: "set another state; if APNs refuses it too, the server or its configuration is at fault",
                evidence: [
                    "revision": .number(JSONNumber(Int(card.revisions.parked))),
                    "status": .number(JSONNumber(last?.status ?? 0)),
                    "code": .string(last?.reason.code.rawValue ?? "parked"),
                    "detail": .string(last?.reason.arguments.joined(separator: " ") ?? ""),
                ])
        ]
    }
}
