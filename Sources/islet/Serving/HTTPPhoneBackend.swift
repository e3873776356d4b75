import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI

/// What the app on a simulated phone says, said to Islet's HTTP API: the calls an app's backend makes for its phones.
struct HTTPPhoneBackend: PhoneBackend {
    let islet: JSONCaller
    /// The API's name of a type by its Swift name; a type that is not listed is called by its Swift name.
    let types: [String: String]

    func register(_ phone: PhoneID, _ report: DeviceReport) async throws -> [DesiredCard] {
        var body = DeviceRequest(user: report.user)
        body.platform = DeviceRequest.Platform(rawValue: report.platform)
        body.timeZone = report.timeZone
        body.locale = report.locale
        body.osVersion = report.osVersion
        body.appVersion = report.appVersion
        body.build = report.build
        body.model = report.model
        body.environment = DeviceRequest.Environment(rawValue: report.environment.rawValue)
        body.activitiesEnabled = report.activitiesEnabled
        body.frequentPushesEnabled = report.frequentPushesEnabled
        body.notificationAuthorization = .init(rawValue: report.notificationAuthorization.rawValue)
        body.deviceToken = TokenText(report.deviceToken.hex)
        return try await put(device(phone), body)
    }

    func pushToStartToken(_ phone: PhoneID, type: String, token: PushToStartToken) async throws -> [DesiredCard] {
        guard let text = TokenText(token.hex) else { return [] }
        return try await put(
            device(phone) + "/push-to-start-tokens/" + JSONCaller.segment(name(type)),
            PushToStartTokenRequest(token: text))
    }

    func instance(_ phone: PhoneID, _ report: InstanceReport) async throws -> [DesiredCard] {
        try await put(
            device(phone) + "/instances/" + JSONCaller.segment(report.localID), try request(report))
    }

    func inventory(_ phone: PhoneID, sequence: Int, instances: [InstanceReport]) async throws -> [DesiredCard] {
        let items = try instances.map { InventoryItem(localID: $0.localID, instance: try request($0)) }
        return try await put(device(phone) + "/instances", InventoryRequest(sequence: sequence, instances: items))
    }

    func signOut(_ phone: PhoneID) async throws {
        try await islet.call(.DELETE, device(phone))
    }

    func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse {
        guard let method = JSONCaller.Method(rawValue: request.method) else { return PhoneResponse(status: 405) }
        let (status, date, body) = try await islet.exchange(method, request.path, request.body)
        return PhoneResponse(status: status, body: body, date: date)
    }

    // MARK: - Parts

    private func device(_ phone: PhoneID) -> String { "/v1/devices/" + JSONCaller.segment(phone.text) }

    private func name(_ swiftName: String) -> String { types[swiftName] ?? swiftName }

    private func request(_ report: InstanceReport) throws -> InstanceRequest {
        guard let state = InstanceRequest.State(rawValue: report.state.rawValue) else {
            throw JSONCaller.Refusal(call: "instance", status: 0, code: "unknown_state", detail: report.state.rawValue)
        }
        var body = InstanceRequest(type: name(report.type), state: state)
        body.activity = report.activity
        body.attributes = report.attributes
        body.token = report.token.flatMap { TokenText($0.hex) }
        body.startedAt = Instant(milliseconds: Int(report.startedAt.milliseconds))
        body.lastTimestamp = Instant(milliseconds: Int(report.lastTimestamp.milliseconds))
        body.contentState = report.contentState
        body.basedOn = report.basedOn
        return body
    }

    private func put(_ path: String, _ body: some Encodable) async throws -> [DesiredCard] {
        let answer = try await islet.call(.PUT, path, try JSONValue(encoding: body))
        let states = try answer.decode(DesiredStatesAnswer.self).activities
        return states.map {
            DesiredCard(activity: $0.activity, contentState: $0.state, isEnded: $0.phase == "ended")
        }
    }
}
