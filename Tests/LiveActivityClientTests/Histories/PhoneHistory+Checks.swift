import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityRegistration
import TestSupport

@testable import APNSSimulator

extension PhoneHistory {
    /// Ends all disturbances: nothing changes, every phone is online with its app open, and all answers arrive.
    mutating func quiesce() {
        note("--- quiet")
        isHealthy = true
        for index in owners.indices {
            owners[index].phone.death = nil
            owners[index].doom = nil
            owners[index].phone.listsCardsAfter = .zero
            if !owners[index].phone.isInstalled { perform(.install, on: index) }
            owners[index].phone.profile.clockSkew = .zero
            owners[index].phone.tellClient(at: now) { $0.tick($1) }
            follow(owners[index].phone.takeEffects(), of: index)
            perform(.online, on: index)
            perform(.allow, on: index)
        }
        // Half an hour of iOS: the app is opened now and then, and pushes arrive.
        for _ in 0..<8 {
            for index in owners.indices {
                perform(.background, on: index)
                perform(.foreground, on: index)
            }
            pass(.seconds(300))
        }
    }

    mutating func check() {
        for index in owners.indices {
            let phone = owners[index].phone
            guard let client = phone.client else {
                violate("\(phone.id) runs no client")
                continue
            }
            if !client.isSettled {
                violate("\(phone.id) has something left to say: \(String(describing: owners[index].call))")
            }
            checkCards(of: phone)
            checkTokens(of: phone)
            checkCredentials(of: phone, client)
        }
    }

    /// Checks that the app calls no existing card gone. The exception is a card that iOS lists later than the app
    /// waits; the app must find it again.
    mutating func checkNotes(of index: Int) {
        let phone = owners[index].phone
        if owners[index].lateness.process != phone.processes {
            owners[index].lateness = (phone.processes, phone.listsCardsAfter)
        }
        let isLate = phone.listsCardsFrom.map { now < $0 } == true
        if isLate, !phone.cards.isEmpty { count(.lateList) }
        if phone.notes.last?.code == .activityPostponed { count(.postponed) }
        let running = Dictionary(grouping: phone.cards.filter(\.state.isRunning)) {
            $0.attributes["id"]?.string?.uppercased()
        }
        if running.values.contains(where: { Set($0.map(\.channel)).count > 1 }) { count(.beside) }
        let gone = Set(phone.notes.filter { $0.code == .activityGone }.compactMap(\.localID))
        for card in phone.cards where card.state.isRunning && gone.contains(card.localID) {
            if isLate, owners[index].lateness.of > .seconds(3) {
                owners[index].missed.insert(card.localID)
            } else if !owners[index].missed.contains(card.localID) {
                violate("\(phone.id) calls \(card.localID) gone, and it is there")
            } else if phone.client?.isSettled == true, !isLate {
                count(.foundAgain)
            }
        }
    }

    /// Checks the calls that leave a phone: a start token leaves only while it is the phone's own and the person allows
    /// Live Activities.
    mutating func checkLeaving(_ call: PhoneCall, _ index: Int) {
        guard call.path.contains("/push-to-start-tokens/") else { return }
        startTokens += 1
        let phone = owners[index].phone
        let token = call.body.flatMap { try? JSONValue(parsing: $0) }?.object?["token"]?.string
        if token == nil || token != phone.pushToStartToken?.hex { violate("\(phone.id) registers what is no token") }
        if !phone.profile.activitiesEnabled { violate("\(phone.id) registers a token without permission") }
    }

    private mutating func checkCredentials(of phone: VirtualPhone, _ client: RegistrationMachine) {
        let (user, kept, device) = (phone.profile.user, phone.keychain, phone.disk.device)
        guard user.isEmpty else {
            // A process whose own credential was revoked repeatedly continues with the person's token.
            if kept.own == nil, !client.wantsCredential, kept.borrowed == user { return }
            if !door.takes(kept.own, of: user, on: device, now) { violate("\(phone.id) cannot speak for \(user)") }
            if kept.proof != nil || kept.borrowed != nil { violate("\(phone.id) keeps what it does not need") }
            return
        }
        if kept != PhoneCredentials() { violate("\(phone.id) can speak, and nobody is signed in") }
        if door.hasCredentials(of: device) { violate("the server takes what \(phone.id) was given") }
    }

    /// Checks the cards of a phone. One card with a token and one on a channel may show the same activity; the server
    /// then has the one with the token.
    private mutating func checkCards(of phone: VirtualPhone) {
        let running = phone.cards.filter(\.state.isRunning)
        if phone.profile.user.isEmpty, !running.isEmpty { violate("\(phone.id): a card, and nobody is signed in") }
        for id in Self.activities {
            let cards = running.filter {
                $0.attributes["id"]?.string == Self.inSwift(id) || $0.attributes["id"]?.string == id
            }
            let (onChannel, withToken) = (cards.filter { $0.channel != nil }, cards.filter { $0.channel == nil })
            if onChannel.count > 1 || withToken.count > 1 { violate("\(phone.id): \(cards.count) cards of \(id)") }
            if !onChannel.isEmpty { count(.onChannel) }
            guard !phone.profile.user.isEmpty, let key = key(of: phone),
                let number = door.store.rows.activityNumbers[.init(door.app.bundleID, Sample.activityID(id))],
                let activity = door.store.rows.activities[number]
            else { continue }
            let instance = door.store.rows.cards[.init(number, key)]
            let isLive = instance.map { $0.state == .live || $0.state == .ending } ?? false
            if let card = withToken.first ?? onChannel.first {
                if instance?.localID?.text != card.localID || !isLive {
                    violate(
                        "\(phone.id) shows \(card.localID) of \(id), the server has \(String(describing: instance))")
                }
                let channel = isLive ? instance?.channel : nil
                if channel != card.channel {
                    violate("\(phone.id): the server has the channel \(channel, default: "none")")
                }
                let opens = phone.client?.memory.opens(of: card.localID) ?? 0
                if isLive, instance?.awaitsUntil == nil, instance?.columns.opens != opens {
                    violate("\(phone.id): \(card.localID) was opened \(opens) times")
                }
                if activity.phase == .ended { violate("\(phone.id): \(id) is over and still shown") }
                if activity.phase == .active, card.contentState != Sample.state(steps[id] ?? 0) {
                    violate(
                        "\(phone.id) shows \(card.contentState), not step \(steps[id] ?? 0) of \(id): "
                            + String(describing: instance)
                    )
                }
            } else if isLive {
                violate("\(phone.id) shows nothing of \(id), the server has \(String(describing: instance))")
            }
        }
    }

    private mutating func checkTokens(of phone: VirtualPhone) {
        let rows = door.store.rows
        let mine = phone.profile.user.isEmpty ? nil : key(of: phone)
        for token in rows.deviceTokens.values where token.deadAt == nil && token.device != mine {
            if token.value == phone.pushToStartToken.map(TokenValue.init) {
                violate("\(phone.id): its start token is that of \(String(describing: rows.devices[token.device]?.id))")
            }
        }
        if phone.profile.user.isEmpty {
            // No token of the person who was signed in here may be left.
            for (device, record) in rows.devices where record.id.text.hasPrefix(phone.disk.device) {
                guard record.id.text == phone.disk.device else { continue }
                if record.signedOutAt == nil { violate("\(phone.id): the server does not know that the person left") }
                for token in rows.deviceTokens.values where token.device == device && token.deadAt == nil {
                    violate("\(phone.id): a start or device token of a signed-out person")
                }
                for (key, token) in rows.updateTokens where key.device == device && token.deadAt == nil {
                    // An activity that the backend has never set gets no pushes, and is erased after twelve hours.
                    let isSpokenOf = rows.activities[key.activity]?.phase != .announced
                    if rows.cards[key]?.state == .live, isSpokenOf {
                        violate("\(phone.id): a live card of a signed-out person")
                    }
                }
            }
            return
        }
        guard let key = key(of: phone) else { return violate("\(phone.id) is not known to the server") }
        if rows.devices[key]?.userID.text != phone.profile.user { violate("\(phone.id) is somebody else's") }
        guard phone.profile.activitiesEnabled, let token = phone.pushToStartToken else { return }
        for type in door.app.types.keys {
            let known = rows.deviceTokens[.init(key, .pushToStart, type)]
            if known?.value != TokenValue(token) || known?.deadAt != nil {
                violate("\(phone.id): the server has another start token of \(type)")
            }
        }
        for card in phone.cards where card.state.isRunning {
            guard let update = card.token,
                let id = card.attributes["id"]?.string,
                let number = rows.activityNumbers[.init(door.app.bundleID, Sample.activityID(id))]
            else { continue }
            if rows.updateTokens[.init(number, key)]?.value != TokenValue(update) {
                violate("\(phone.id): the server has another update token of \(card.localID)")
            }
        }
    }

    func key(of phone: VirtualPhone) -> DeviceKey? {
        door.store.rows.deviceKeys[.init(door.app.bundleID, Sample.device(phone.disk.device))]
    }
}
