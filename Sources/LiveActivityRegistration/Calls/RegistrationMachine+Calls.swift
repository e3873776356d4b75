internal import JSONText
internal import LiveActivityAPI

extension RegistrationMachine {
    /// `true` if something is to be reported to the server.
    var hasPending: Bool { nextPurpose != nil }

    /// Sends the most urgent report, unless a call is under way or a pause is not over.
    mutating func pump(_ now: PhoneMoment) {
        if case .pausing(let until) = line, until <= now.steady { line = .free }
        guard case .free = line, mayLeave(now), let purpose = nextPurpose,
            let (method, path, body) = words(of: purpose, now)
        else { return }
        calls += 1
        line = .busy(
            InFlight(
                number: calls, purpose: purpose, epoch: epoch, round: round, sentAt: now.steady,
                contents: memory.cards.mapValues(\.content), usesCredential: credential.isOwn))
        var showsProof = false
        if case .device = purpose, !credential.isOwn {
            showsProof = credential.isProof
            change { $0.isUnproven = true }
        }
        act(.send(PhoneCall(number: calls, method: method, path: path, body: body, showsProof: showsProof)))
        noteSending(purpose)
    }

    /// Returns `true` if a call may leave. When a person signs out, their cards leave the lock screen first.
    private func mayLeave(_ now: PhoneMoment) -> Bool {
        guard memory.user == nil, let leftAt else { return true }
        return ending.isEmpty || now.steady - leftAt >= limits.endingPatience
    }

    private var nextPurpose: InFlight.Purpose? {
        if memory.isLeaving { return knowsCards ? .signOut : nil }
        guard memory.user != nil, knowsFacts else { return nil }
        let device = deviceRequest
        if memory.confirmed != device { return .device(device) }
        if let over = pendingCard(where: { !$0.isRunning && $0.state != .duplicate }) { return over }
        if memory.owesInventory, knowsCards {
            return .inventory(memory.cards.filter(\.value.isRunning).mapValues(\.version))
        }
        if let withdrawal = withdrawals.first { return .withdrawal(order: withdrawal.order) }
        if let order = orders.first(where: \.isUnheard) {
            return .announcement(order: order.number)
        }
        if let token = pendingStartToken { return token }
        // The card that stays is reported first, so that the end of the other one is the end of a card that was
        // replaced.
        return pendingCard(where: \.isRunning) ?? pendingCard { !$0.isRunning }
    }

    private var deviceRequest: DeviceRequest {
        var request = memory.facts
        request.user = memory.user ?? ""
        if let token = request.deviceToken, memory.deadTokens.contains(token) { request.deviceToken = nil }
        return request
    }

    /// Returns the next push-to-start token to report. There is none while the person does not allow Live Activities.
    private var pendingStartToken: InFlight.Purpose? {
        guard memory.facts.activitiesEnabled == true else { return nil }
        for (type, token) in memory.startTokens.sorted(by: { $0.key < $1.key })
        where rules[type] != nil && memory.confirmedStartTokens[type] != token && !memory.deadTokens.contains(token) {
            return .startToken(type: type, token)
        }
        return nil
    }

    private func pendingCard(where isMeant: (CardMemory) -> Bool) -> InFlight.Purpose? {
        let pending = memory.cards.filter { $0.value.isPending && isMeant($0.value) }
        return pending.min { $0.value.number < $1.value.number }.map { .card($0.key, version: $0.value.version) }
    }

    // MARK: - Words

    private mutating func words(
        of purpose: InFlight.Purpose, _ now: PhoneMoment
    ) -> (PhoneCall.Method, String, [UInt8]?)? {
        let device = "/v1/devices/" + Self.segment(memory.device)
        switch purpose {
        case .signOut: return (.delete, device, nil)
        case .device(var request):
            if wantsCredential { request.wantsCredential = true }
            return (.put, device, Self.body(request))
        case .startToken(let type, let token):
            let body = Self.body(PushToStartTokenRequest(token: token))
            return (.put, device + "/push-to-start-tokens/" + Self.segment(type), body)
        case .announcement(let number):
            guard let index = orders.firstIndex(where: { $0.number == number }) else { return nil }
            orders[index].announce()
            let path = device + "/instances/" + Self.segment("starting-\(number)")
            return (.put, path, numbered(Self.word(of: orders[index].card, .requesting)))
        case .withdrawal(let number):
            guard let card = withdrawals.first(where: { $0.order == number })?.card else { return nil }
            let path = device + "/instances/" + Self.segment("starting-\(number)")
            return (.put, path, numbered(Self.word(of: card, .notStarted)))
        case .inventory:
            let running = memory.cards.filter(\.value.isRunning).sorted { $0.value.number < $1.value.number }
            change { $0.sequence += 1 }
            let items = running.prefix(Self.inventoryLimit).map {
                InventoryItem(localID: $0.key, instance: Self.report(of: $0.value))
            }
            return (
                .put, device + "/instances", Self.body(InventoryRequest(sequence: memory.sequence, instances: items))
            )
        case .card(let localID, _):
            guard let card = memory.cards[localID] else { return nil }
            return (.put, device + "/instances/" + Self.segment(localID), numbered(Self.report(of: card)))
        }
    }

    /// Encodes a report with a sequence number. The network may reorder reports, and the server sees by the number
    /// which one is newer.
    private mutating func numbered(_ report: InstanceRequest) -> [UInt8]? {
        change { $0.sequence += 1 }
        var report = report
        report.sequence = memory.sequence
        return Self.body(report)
    }

    /// The most cards of an inventory. iOS itself keeps far fewer.
    private static let inventoryLimit = 100

    private static func word(of card: CardOrder, _ state: InstanceRequest.State) -> InstanceRequest {
        var request = InstanceRequest(type: card.type, state: state)
        request.activity = card.activity
        request.attributes = card.attributes
        return request
    }

    static func report(of card: CardMemory) -> InstanceRequest {
        var request = InstanceRequest(type: card.type, state: card.state)
        request.activity = card.activity
        request.attributes = card.attributes
        request.startedAt = card.startedAt
        request.opens = card.opens
        guard card.isRunning else { return request }
        request.token = card.token
        if card.isOnChannel { request.channel = card.channel }
        request.contentState = card.content
        request.lastTimestamp = card.lastTimestamp.flatMap { Instant(milliseconds: $0 * 1_000) }
        request.basedOn = card.ahead?.basedOn
        return request
    }

    private static func body(_ value: some Encodable) -> [UInt8]? { (try? JSONValue(encoding: value))?.bytes }

    /// Percent-encodes all characters but the unreserved ones (RFC 3986 section 2.3).
    static func segment(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return encoded
    }

    private mutating func noteSending(_ purpose: InFlight.Purpose) {
        switch purpose {
        case .device(let request):
            if let token = request.deviceToken { tell(PhoneNote(.tokenSent, detail: "device \(token)")) }
        case .startToken(let type, let token):
            tell(PhoneNote(.tokenSent, type: type, detail: "push-to-start \(token)"))
        case .card(let localID, _): noteToken(of: localID)
        case .inventory(let versions): for localID in versions.keys { noteToken(of: localID) }
        case .signOut, .announcement, .withdrawal: break
        }
    }

    private mutating func noteToken(of localID: String) {
        guard let card = memory.cards[localID], let token = card.token else { return }
        tell(
            PhoneNote(
                .tokenSent, type: card.type, activity: card.activity, localID: localID, detail: "update \(token)"))
    }
}
