internal import APNSModel
internal import JSONText

extension JSONValue {
    init(_ number: Int) { self = .number(JSONNumber(number)) }
    init(_ text: String?) { self = text.map(JSONValue.string) ?? .null }
    init(_ time: UnixTime?) { self.init(time?.description) }
}

extension LockScreen {
    /// The lock screen as the control API shows it, with masked tokens.
    var view: JSONValue {
        [
            "cards": .array(cards.map(\.view)), "dismissed": .array(dismissed.map(\.view)),
            "notifications": .array(notifications.map(\.view)), "appState": .string(appState.rawValue),
            "isOnline": .bool(isOnline), "isLocked": .bool(isLocked), "activitiesEnabled": .bool(activitiesEnabled),
            "frequentPushesEnabled": .bool(frequentPushesEnabled),
            "notificationAuthorization": .string(notificationAuthorization.rawValue),
            "waitingReports": .init(waitingReports),
        ]
    }
}

extension Card {
    var view: JSONValue {
        [
            "localID": .string(localID), "attributesType": .string(attributesType), "attributes": .object(attributes),
            "contentState": .object(contentState), "state": .string(state.rawValue),
            "ending": .init(ending?.rawValue), "alert": alert?.view ?? .null, "alerts": .init(alerts),
            "startedAt": .init(startedAt), "updatedAt": .init(updatedAt), "timestamp": .init(Int(timestamp.seconds)),
            "staleDate": .init(staleDate), "endedAt": .init(endedAt), "dismissesAt": .init(dismissesAt),
            "relevance": JSONNumber(relevance).map(JSONValue.number) ?? .null, "startedByPush": .bool(startedByPush),
            "token": .init(token?.masked), "channel": .init(channel?.text), "activity": .init(activity),
        ]
    }
}

extension ShownAlert {
    var view: JSONValue {
        var view: JSONObject = [
            "title": .string(title), "body": .init(body), "sound": .init(sound), "at": .init(at),
        ]
        view["subtitle"] = subtitle.map(JSONValue.string)
        view["threadID"] = threadID.map(JSONValue.string)
        view["collapseID"] = collapseID.map(JSONValue.string)
        view["data"] = data.isEmpty ? nil : .object(data)
        return .object(view)
    }
}

extension DeviceLogEntry {
    var view: JSONValue {
        [
            "at": .init(at), "code": .string(code.rawValue), "words": .string(words), "localID": .init(localID),
            "pushID": .init(pushID?.description),
        ]
    }
}

extension ReceivedPush {
    var view: JSONValue {
        [
            "number": .init(number), "at": .init(at), "environment": .string(environment.rawValue),
            "token": .string(token), "pushType": .init(pushType), "topic": .init(topic), "event": .init(event),
            "priority": .init(priority), "expiration": .init(expiration), "collapseID": .init(collapseID),
            "timestamp": timestamp.map { .init($0) } ?? .null, "payloadBytes": .init(payloadBytes),
            "channel": .init(channel), "id": .string(id.description), "phone": .init(phone?.text),
            "status": status.map { .init($0) } ?? .null,
            "reason": .init(reason), "hadFault": .bool(hadFault), "hasTextualIssueDate": .bool(hasTextualIssueDate),
        ]
    }
}

extension FaultRule {
    var view: JSONValue {
        var object = effect.view
        object["phone"] = phone.map { .string($0.text) }
        object["tokenPrefix"] = tokenPrefix.map { .string(String($0.prefix(8))) }
        object["event"] = event.map(JSONValue.string)
        object["topic"] = topic.map(JSONValue.string)
        object["channel"] = channel.map { .string($0.text) }
        object["skip"] = skip == 0 ? nil : .init(skip)
        object["every"] = every == 1 ? nil : .init(every)
        object["count"] = count.map { .init($0) }
        object["after"] = after == .zero ? nil : JSONNumber(after / .seconds(1)).map(JSONValue.number)
        object["lasting"] = lasting.flatMap { JSONNumber($0 / .seconds(1)) }.map(JSONValue.number)
        object["probability"] = JSONNumber(probability).map(JSONValue.number)
        return .object(object)
    }
}

extension FaultRule.Effect {
    fileprivate var view: JSONObject {
        switch self {
        case .refuse(let status, let reason):
            ["effect": "refuse", "status": .init(status), "reason": .string(reason)]
        case .stall: ["effect": "stall"]
        case .refuseStream: ["effect": "refuseStream"]
        case .loseAnswer(let loss): ["effect": "loseAnswer", "loss": .string(loss.rawValue)]
        case .slow(let delay):
            ["effect": "slow", "seconds": JSONNumber(delay / .seconds(1)).map(JSONValue.number) ?? .null]
        case .delay(let time):
            ["effect": "delay", "seconds": JSONNumber(time / .seconds(1)).map(JSONValue.number) ?? .null]
        case .goAway(let reason, let last):
            ["effect": "goAway", "reason": .string(reason), "last": last.view]
        case .limitStreams(let count): ["effect": "limitStreams", "streams": .init(count)]
        }
    }
}

extension FaultRule.LastStream {
    fileprivate var view: JSONValue {
        switch self {
        case .this: "this"
        case .previous: "previous"
        case .id(let id): .init(id)
        }
    }
}

extension APNSSimulator {
    var aheadSeconds: JSONValue { JSONNumber(clockAhead / .seconds(1)).map(JSONValue.number) ?? .null }

    func summary(of phone: PhoneID) throws(SimulatorError) -> JSONValue {
        try engine.withWorld { world, _ throws(SimulatorError) in
            let phone = try world.slot(of: phone).phone
            return [
                "id": .string(phone.id.text), "user": .string(phone.profile.user),
                "running": .init(phone.cards.count(where: \.state.isRunning)),
                "appState": .string(phone.profile.appState.rawValue), "isOnline": .bool(phone.profile.isOnline),
            ]
        }
    }

    /// Returns the tokens of a phone in full, because a caller who drives a phone by hand needs what its app has.
    func tokensView(of phone: PhoneID) throws(SimulatorError) -> JSONValue {
        let tokens = try tokens(of: phone)
        var update: JSONObject = [:]
        for card in try lockScreen(of: phone).cards {
            if let token = card.token { update[card.localID] = .string(token.hex) }
        }
        return [
            "device": .init(tokens.device?.hex), "pushToStart": .init(tokens.pushToStart?.hex),
            "update": .object(update),
        ]
    }
}
