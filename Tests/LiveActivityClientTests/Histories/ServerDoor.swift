import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityRegistration
import LiveActivityStorage
import TestSupport

@testable import LiveActivityServer

/// The phone's calls as the server's commands, on the reference store: the HTTP door without HTTP, with the server's
/// own rules of access.
struct ServerDoor {
    var store = ModelStore()
    let app: AppSettings
    var keys: UInt64 = 0
    /// `true` if phones without a credential call with their person's own token; `false` if they use a key of the
    /// backend.
    var knowsPeople = false

    /// - Returns: `true` if there was a credential to revoke.
    mutating func revoke(_ device: String) -> Bool {
        let reply = try? run(RevokeCredentials(app: app.bundleID, id: Sample.device(device)))
        return reply.map { $0.revoked > 0 } ?? false
    }

    private struct Unknown: Error {}

    /// Returns the caller: a person whose token the app has, a phone by its credential, or the backend.
    private func reporter(_ given: PhoneCredentials, _ now: UnixTime) throws -> Reporter {
        if let own = given.own {
            guard let (device, hash) = proven(own, now), device.signedOutAt == nil else { throw Unknown() }
            return .phone(device.key, device.userID, secretHash: hash)
        }
        guard knowsPeople else { return .backend }
        guard let person = given.borrowed else { throw Unknown() }
        return .person(Sample.user(person))
    }

    private func joiner(_ reporter: Reporter) -> Joiner {
        switch reporter {
        case .backend: .backend
        case .person(let user): .person(user)
        case .phone(let device, let user, _): .phone(device, user)
        }
    }

    private func proven(_ text: String, _ now: UnixTime) -> (DeviceRecord, [UInt8])? {
        guard let credential = PhoneCredential(text), let device = store.rows.devices[credential.device],
            let hash = credential.proven(by: device, at: now, idleLimit: .seconds(90 * 86_400))
        else { return nil }
        return (device, hash)
    }

    mutating func handle(_ call: PhoneCall, _ given: PhoneCredentials, now: UnixTime) -> PhoneAnswer {
        let parts = call.path.split(separator: "/").map(String.init)
        let device = Sample.device(parts[2])
        let body = call.body.flatMap { try? JSONValue(parsing: $0) } ?? .null
        guard let reporter = try? reporter(given, now) else {
            return PhoneAnswer(status: 401, body: Array(#"{"code":"key_invalid"}"#.utf8), date: Int(now.seconds))
        }
        do {
            switch (call.method, parts.count, parts.dropFirst(3).first) {
            case (.get, 4, _):
                let command = JoinActivity(
                    app: app, id: Sample.activityID(parts[2]), joiner: joiner(reporter), environment: .sandbox,
                    now: now)
                let offer = DesiredStatesAnswer.DesiredState(try run(command))
                return PhoneAnswer(
                    status: 200, body: try JSONValue(encoding: offer).bytes, date: Int(now.seconds))
            case (.delete, 3, _):
                var command = SignOutDevice(app: app.bundleID, id: device, now: now)
                command.reporter = reporter
                _ = try run(command)
            case (.put, 3, _):
                let request = try body.decode(DeviceRequest.self)
                guard reporter.user.map({ $0.text == request.user }) ?? true else {
                    return PhoneAnswer(
                        status: 403, body: Array(#"{"code":"user_differs"}"#.utf8), date: Int(now.seconds))
                }
                let shown = call.showsProof ? given.proof : nil
                let key = try register(device, request, by: reporter, showing: shown, now)
                let credential = request.wantsCredential == true ? try handOut(device, key, reporter, now) : nil
                return PhoneAnswer(status: 200, body: desired(on: device, credential), date: Int(now.seconds))
            case (.put, 5, "push-to-start-tokens"):
                guard app.types[parts[4]] != nil else { throw Unknown() }
                let token = try PushToStartToken(hex: try body.decode(PushToStartTokenRequest.self).token.text)
                var command = RegisterPushToStartToken(app: app, id: device, type: parts[4], token: token, now: now)
                command.reporter = reporter
                _ = try run(command)
            case (.put, 5, "instances"):
                let report = try report(parts[4], try body.decode(InstanceRequest.self))
                var command = ReportCard(app: app, device: device, report: report, now: now)
                command.reporter = reporter
                _ = try run(command)
            case (.put, 4, "instances"):
                let inventory = try body.decode(InventoryRequest.self)
                let reports = try inventory.instances.map { try report($0.localID, $0.instance) }
                var command = ReportInventory(
                    app: app, device: device, sequence: Int64(inventory.sequence), reports: reports, now: now)
                command.reporter = reporter
                let overtaken = try run(command).supersededBy
                return PhoneAnswer(
                    status: 200, body: desired(on: device, supersededBy: overtaken), date: Int(now.seconds))
            default: return PhoneAnswer(status: 404)
            }
        } catch let refusal as Refusal {
            return refused(refusal, now)
        } catch {
            return PhoneAnswer(status: 422, body: Array("{}".utf8), date: Int(now.seconds))
        }
        return PhoneAnswer(status: 200, body: desired(on: device), date: Int(now.seconds))
    }

    mutating func run<C: Command>(_ command: C) throws -> C.Reply { try store.run(command).get() }

    private func refused(_ refusal: Refusal, _ now: UnixTime) -> PhoneAnswer {
        let (status, code) =
            switch refusal {
            case .unknownActivity: (404, "unknown_activity")
            case .unknownDevice: (404, "unknown_device")
            case .deadToken: (409, "dead_token")
            case .deviceTaken: (403, "device_taken")
            default: (422, "refused")
            }
        return PhoneAnswer(status: status, body: Array(#"{"code":"\#(code)"}"#.utf8), date: Int(now.seconds))
    }

    private mutating func register(
        _ device: DeviceID, _ request: DeviceRequest, by reporter: Reporter, showing shown: String?, _ now: UnixTime
    ) throws -> DeviceKey {
        var body = RegisterDevice.Body(user: Sample.user(request.user ?? ""))
        body.osVersion = request.osVersion.flatMap { OSVersion($0) }
        body.activitiesEnabled = request.activitiesEnabled
        body.frequentPushesEnabled = request.frequentPushesEnabled
        body.environment = request.environment == .production ? .production : .sandbox
        body.deviceToken = try request.deviceToken.map { try DeviceToken(hex: $0.text) }
        keys += 1
        var command = RegisterDevice(app: app, id: device, body: body, now: now, freshKey: DeviceKey(keys))
        command.reporter = reporter
        if case .person = reporter, let (owner, hash) = shown.flatMap({ proven($0, now) }), owner.id == device {
            command.possession = hash
        }
        return try run(command)
    }

    private func report(_ localID: String, _ request: InstanceRequest) throws -> CardReport {
        guard let type = app.types[request.type], let state = CardReport.State(rawValue: request.state.rawValue) else {
            throw Unknown()
        }
        var report = CardReport(localID: Sample.local(localID), type: type, state: state)
        report.activity = request.activity.map(Sample.activityID)
        report.attributes = request.attributes
        report.token = try request.token.map { try UpdateToken(hex: $0.text) }
        report.opens = request.opens ?? 0
        report.channel = request.channel.flatMap { ChannelID($0) }
        report.startedAt = request.startedAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) }
        report.lastTimestamp = request.lastTimestamp.map { Int64($0.milliseconds / 1_000) }
        report.contentState = request.contentState
        report.basedOn = request.basedOn.map { Revision($0) }
        report.sequence = request.sequence.map(Int64.init)
        return report
    }

    private mutating func handOut(
        _ device: DeviceID, _ key: DeviceKey, _ reporter: Reporter, _ now: UnixTime
    ) throws -> String {
        keys += 1
        var dice = SeededDice(seed: keys)
        let credential = PhoneCredential(of: key, using: &dice)
        _ = try run(
            HandOutCredential(
                app: app.bundleID, id: device, secretHash: credential.secretHash, now: now, reporter: reporter))
        return credential.text
    }

    /// Returns `true` if a phone may act for this person with this credential.
    func takes(_ credential: String?, of user: String, on device: String, _ now: UnixTime) -> Bool {
        guard let (owner, _) = credential.flatMap({ proven($0, now) }) else { return false }
        return owner.id.text == device && owner.userID.text == user && owner.signedOutAt == nil
    }

    /// Returns `true` if any credential of a phone is still valid.
    func hasCredentials(of device: String) -> Bool {
        store.rows.devices.values.contains { $0.id.text == device && !$0.credentials.isEmpty }
    }

    private func desired(
        on device: DeviceID, _ credential: String? = nil, supersededBy overtaken: Int64? = nil
    ) -> [UInt8] {
        guard let key = store.rows.deviceKeys[.init(app.bundleID, device)] else { return [] }
        let states = store.rows.cards.values.filter { $0.device == key }
            .compactMap { instance -> DesiredStatesAnswer.DesiredState? in
                guard let record = store.rows.activities[instance.activity] else { return nil }
                let content = store.rows.contents[instance.activity]
                return .init(
                    ActivityState(record: record, content: content, lanes: []), instance, on: device, app: app)
            }
        var answer = DesiredStatesAnswer(activities: states)
        answer.credential = credential
        answer.supersededBy = overtaken.map { Int($0) }
        return (try? JSONValue(encoding: answer))?.bytes ?? []
    }
}
