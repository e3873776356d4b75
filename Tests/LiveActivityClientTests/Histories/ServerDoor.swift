import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityRegistration
import LiveActivityStorage
import TestSupport

@testable import LiveActivityServer

/// The phone's calls as the server's commands, on the reference store: the HTTP door without HTTP.
struct ServerDoor {
    var store = ModelStore()
    let app: AppSettings
    var keys: UInt64 = 0

    mutating func handle(_ call: PhoneCall, now: UnixTime) -> PhoneAnswer {
        let parts = call.path.split(separator: "/").map(String.init)
        let device = Sample.device(parts[2])
        let body = call.body.flatMap { try? JSONValue(parsing: $0) } ?? .null
        do {
            switch (call.method, parts.count, parts.dropFirst(3).first) {
            case (.delete, 3, _):
                _ = try run(SignOutDevice(app: app.bundleID, id: device, now: now))
            case (.put, 3, _): try register(device, try body.decode(DeviceRequest.self), now)
            case (.put, 5, "push-to-start-tokens"):
                let token = try PushToStartToken(hex: try body.decode(PushToStartTokenRequest.self).token.text)
                _ = try run(RegisterPushToStartToken(app: app, id: device, type: parts[4], token: token, now: now))
            case (.put, 5, "instances"):
                let report = try report(parts[4], try body.decode(InstanceRequest.self))
                _ = try run(ReportCard(app: app, device: device, report: report, now: now))
            case (.put, 4, "instances"):
                let inventory = try body.decode(InventoryRequest.self)
                let reports = try inventory.instances.map { try report($0.localID, $0.instance) }
                _ = try run(
                    ReportInventory(
                        app: app, device: device, sequence: Int64(inventory.sequence), reports: reports, now: now))
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
            case .unknownDevice: (404, "unknown_device")
            case .deadToken: (409, "dead_token")
            default: (422, "refused")
            }
        return PhoneAnswer(status: status, body: Array(#"{"code":"\#(code)"}"#.utf8), date: Int(now.seconds))
    }

    private mutating func register(_ device: DeviceID, _ request: DeviceRequest, _ now: UnixTime) throws {
        var body = RegisterDevice.Body(user: Sample.user(request.user))
        body.osVersion = request.osVersion.flatMap { OSVersion($0) }
        body.activitiesEnabled = request.activitiesEnabled
        body.frequentPushesEnabled = request.frequentPushesEnabled
        body.environment = request.environment == .production ? .production : .sandbox
        body.deviceToken = try request.deviceToken.map { try DeviceToken(hex: $0.text) }
        keys += 1
        _ = try run(RegisterDevice(app: app, id: device, body: body, now: now, freshKey: DeviceKey(keys)))
    }

    private func report(_ localID: String, _ request: InstanceRequest) throws -> CardReport {
        guard let type = app.types[request.type], let state = CardReport.State(rawValue: request.state.rawValue) else {
            throw Refusal.deadToken
        }
        var report = CardReport(localID: Sample.local(localID), type: type, state: state)
        report.activity = request.activity.map(Sample.activityID)
        report.attributes = request.attributes
        report.token = try request.token.map { try UpdateToken(hex: $0.text) }
        report.startedAt = request.startedAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) }
        report.lastTimestamp = request.lastTimestamp.map { Int64($0.milliseconds / 1_000) }
        report.contentState = request.contentState
        report.basedOn = request.basedOn.map { Revision($0) }
        return report
    }

    private func desired(on device: DeviceID) -> [UInt8] {
        guard let key = store.rows.deviceKeys[.init(app.bundleID, device)] else { return [] }
        let states = store.rows.instances.values.filter { $0.device == key }
            .compactMap { instance -> DesiredStatesAnswer.DesiredState? in
                guard let record = store.rows.activities[instance.activity] else { return nil }
                let content = store.rows.contents[instance.activity]
                return .init(ActivityState(record: record, content: content, lanes: []), instance, app: app)
            }
        return (try? JSONValue(encoding: DesiredStatesAnswer(activities: states)))?.bytes ?? []
    }
}
