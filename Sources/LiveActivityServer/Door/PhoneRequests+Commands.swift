import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore

extension DeviceRequest {
    func command(of device: DeviceID, in call: Call) throws(Problem) -> RegisterDevice {
        var body = RegisterDevice.Body(user: try person(of: call))
        body.platform = platform?.rawValue
        body.timeZone = try Self.timeZone(timeZone)
        body.locale = try Fields.text(locale, at: "/locale", maximum: 64)
        if let osVersion {
            guard let version = OSVersion(osVersion) else {
                throw .invalid("/osVersion", "not a version", expected: "one to three numbers with dots, such as 18.1")
            }
            body.osVersion = version
        }
        body.appVersion = try Fields.text(appVersion, at: "/appVersion", maximum: 64)
        body.build = try Fields.text(build, at: "/build", maximum: 64)
        body.model = try Fields.text(model, at: "/model", maximum: 64)
        body.environment = environment.map { environment in
            switch environment {
            case .sandbox: .sandbox
            case .production: .production
            }
        }
        body.activitiesEnabled = activitiesEnabled
        body.frequentPushesEnabled = frequentPushesEnabled
        body.channels = channels
        body.notificationAuthorization = notificationAuthorization?.rawValue
        body.deviceToken = try Fields.token(deviceToken, at: "/deviceToken")
        let key = DeviceKey(truncatingIfNeeded: call.services.dice()) & .max
        var command = RegisterDevice(app: call.app, id: device, body: body, now: call.now, freshKey: key)
        command.reporter = call.caller.reporter
        return command
    }

    /// Returns the person of the device: the one of the caller's own token, or the one that a key's holder names.
    private func person(of call: Call) throws(Problem) -> UserID {
        let named: UserID? = try user.map { (text) throws(Problem) in try Fields.id(text, at: "/user") }
        guard let caller = call.caller.user else {
            guard let named else {
                throw .invalid("/user", "missing, expected string", expected: "string")
            }
            return named
        }
        guard named == nil || named == caller else {
            throw Problem(
                .userDiffers, "/user: it names another person than the token of this call", pointer: "/user",
                fix: "leave `user` out: the token says who it is")
        }
        return caller
    }

    /// Checks only the form of the name. Whether such a zone exists is checked where the zone is used.
    private static func timeZone(_ text: String?) throws(Problem) -> String? {
        guard let text else { return nil }
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "+"):
                true
            default: false
            }
        }
        // The longest zone name has 32 letters. A token in the wrong field has at least 64 digits.
        guard 1...48 ~= text.utf8.count, isName else {
            throw .invalid("/timeZone", "not the name of a time zone", expected: "an IANA name such as Europe/Berlin")
        }
        return text
    }
}

extension InstanceRequest {
    /// Returns the report for the command. `pointer` is the place of this request in the body.
    func report(of localID: LocalID, in call: Call, at pointer: String) throws(Problem) -> CardReport {
        let type = try call.type(type, pointer: pointer + "/type")
        var report = CardReport(localID: localID, type: type, state: state.reported)
        report.activity = try activity.map { (text) throws(Problem) in try Fields.id(text, at: pointer + "/activity") }
        report.attributes = attributes
        report.token = try Fields.token(token, at: pointer + "/token")
        report.channel = try channel(at: pointer + "/channel")
        report.startedAt = startedAt.map(UnixTime.init)
        report.lastTimestamp = lastTimestamp.map { UnixTime($0).seconds }
        report.contentState = contentState
        if let basedOn {
            guard basedOn >= 0 else {
                throw .invalid(pointer + "/basedOn", "negative", expected: "a revision, 0 or more")
            }
            report.basedOn = Revision(basedOn)
        }
        if let sequence {
            guard sequence >= 1 else {
                throw .invalid(pointer + "/sequence", "not positive", expected: "1 or more", given: String(sequence))
            }
            report.sequence = Int64(sequence)
        }
        if let opens {
            guard 0...Self.maximumOpens ~= opens else {
                throw .invalid(
                    pointer + "/opens", "out of range", expected: "0 to \(Self.maximumOpens)", given: String(opens))
            }
            report.opens = opens
        }
        return report
    }

    private func channel(at pointer: String) throws(Problem) -> ChannelID? {
        guard let channel else { return nil }
        guard token == nil else {
            throw .invalid(
                pointer, "not allowed together with `token`",
                expected: "a channel, or a token: iOS gives a card on a channel no token",
                given: channel)
        }
        guard let id = ChannelID(channel) else {
            throw .invalid(
                pointer, "not the id of a broadcast channel",
                expected: "what APNs answered as `apns-channel-id`: base64, 256 characters at most", given: channel)
        }
        return id
    }
}

extension InstanceRequest.State {
    fileprivate var reported: CardReport.State {
        switch self {
        case .requesting: .requesting
        case .pending: .pending
        case .active: .active
        case .stale: .stale
        case .ended: .ended
        case .dismissed: .dismissed
        case .gone: .gone
        case .notStarted: .notStarted
        case .duplicate: .duplicate
        }
    }
}

extension InventoryRequest {
    /// Maximum number of cards in one inventory. iOS itself keeps far fewer.
    static let maximumCards = 100

    func command(of device: DeviceID, in call: Call) throws(Problem) -> ReportInventory {
        guard sequence >= 1 else {
            throw .invalid("/sequence", "must grow from 1", expected: "1 or more", given: String(sequence))
        }
        guard instances.count <= Self.maximumCards else {
            throw .invalid(
                "/instances", "too many cards", expected: "at most \(Self.maximumCards)", given: String(instances.count)
            )
        }
        var reports: [CardReport] = []
        var known: Set<LocalID> = []
        for (index, item) in instances.enumerated() {
            let pointer = "/instances/\(index)"
            let localID: LocalID = try Fields.id(item.localID, at: pointer + "/localID")
            guard known.insert(localID).inserted else {
                throw .invalid(pointer + "/localID", "listed twice", expected: "each card once")
            }
            reports.append(try item.instance.report(of: localID, in: call, at: pointer))
        }
        return ReportInventory(
            app: call.app, device: device, sequence: Int64(sequence), reports: reports, now: call.now)
    }
}
