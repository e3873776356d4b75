internal import APNSModel
internal import HTTPTypes
internal import Hummingbird
internal import JSONText
internal import NIOCore

/// The routes of the control API.
///
/// Bodies and answers are JSON. Unknown fields are refused. An error is a problem document (RFC 9457) with a stable
/// `code`. Instants are RFC 3339 text, durations numbers of seconds.
///
/// The list has each route with its body and, after the arrow, its answer. The status is 200 unless the list names
/// another.
///
/// - `GET /v1/simulator` → `host`, `ports`, `now`, `aheadSeconds`, `phones`, `connections`, `received`, `receivedBytes`
/// - `GET /v1/ca.pem` → the certificate to trust, as PEM text
/// - `POST /v1/keys`: `keyID?`, `teamID?`, `pem?`, `environments?`, `topics?`, `relatedKeyID?` → 201 `keyID`, `teamID`,
///   and without `pem` the new key's `p8`, which is shown only this once
/// - `DELETE /v1/keys/{keyID}` → 204
/// - `POST /v1/phones`: `user`, `bundleID`, `count?`, `id?`, `environment?`, `iOS?`, `appVersion?`, `build?`, `model?`,
///   `timeZone?`, `locale?`, `activitiesEnabled?`, `frequentPushesEnabled?`, `notificationAuthorization?`, `appState?`,
///   `isLocked?`, `isOnline?`, `asksToAllow?`, `noticesInBackground?`, `startsWantedCards?`, `clockSkew?`,
///   `activityTypes?` → 201 `phones`: their ids; if `count` is above 1, `-1`, `-2` … is appended to `id` and `user`
/// - `GET /v1/phones?after=&limit=` → `phones` in the order in which they were made: `id`, `user`, `running`,
///   `appState`, `isOnline`
/// - `GET /v1/phones/{phone}` → `id`, `lockScreen`, `log`; tokens are masked
/// - `GET /v1/phones/{phone}/tokens` → `device`, `pushToStart`, `update` by local id, in full
/// - `POST /v1/phones/{phone}/actions`: `action` and its fields, see below → `localID` of a card that was made at once,
///   else empty (an app with a backend calls it first)
/// - `POST /v1/crowd`: `name`, `count`, `bundleID`, `attributesType`, `environment?` → 201 the totals; `CrowdTokens`
///   derives the tokens from the name
/// - `GET /v1/crowd/{name}?state=` → the totals, and `holding`: `digest` and `members` of the 16 content states that
///   most members show, or of the one given as JSON
/// - `GET /v1/crowd/{name}/members/{number}` → `accepted`, `isRunning`, `hasEnded`, `timestamp`, `digest`
/// - `POST /v1/crowd/{name}/cards`: `channel`, `first?`, `count?` → the totals; the apps of these members (default:
///   all) have started a card on the broadcast channel
/// - `POST /v1/crowd/{name}/wait`: `pushes?`, `state?`, `members?`, `seconds?` → the totals, once that many pushes were
///   taken and that many members (default: all) show the state; 408 with the totals after `seconds` (default 60)
/// - `DELETE /v1/crowd/{name}` → 204
/// - `GET /v1/channels?after=&limit=` → `channels` by app and environment: `id`, `bundleID`, `environment`, `storage`,
///   `subscribers`
/// - `POST /v1/channels/forget`: `channel` → 204; its cards stay and get nothing
/// - `GET /v1/channels/rules` → `broadcastApps`, `channelsPerApp`, `broadcastsPerSecond`, `lateSubscribersGetStored`
/// - `PUT /v1/channels/rules`: `broadcastApps?`, `channelsPerApp?`, `broadcastsPerSecond?`,
///   `lateSubscribersGetStored?` → 204; what is left out has its standard value
/// - `POST /v1/clock/advance`: `seconds` → `now`, `aheadSeconds`
/// - `GET /v1/faults` → `faults`
/// - `PUT /v1/faults`: `profile` (`bad-day`) and `seconds?`, or `faults`: `effect` and its fields, `phone?`,
///   `tokenPrefix?`, `event?`, `topic?`, `channel?`, `skip?`, `every?`, `count?`, `probability?`, `after?`, `lasting?`
///   → 204; the first rule that matches decides
/// - `DELETE /v1/faults` → 204
/// - `POST /v1/connections/go-away`: `reason?`, `lastStreamID?` → 204; every connection gets GOAWAY
/// - `POST /v1/connections/streams`: `streams` → 204; limits the streams of every open connection
/// - `POST /v1/connections/abort` → 204; every connection is reset
/// - `GET /v1/pushes?after=&limit=` → `pushes` with a larger `number`, oldest first, at most 1,000
/// - `GET /v1/changes?phone=` → server-sent events `phone` and `push`
///
/// Actions:
///
/// - `foreground`, `background`, `launch`, `kill`, `forceQuit`, `uninstall`, `install`, `allow`, `offline`, `online`,
///   `lock`, `unlock`, `rotatePushToStartToken`, `rotateDeviceToken`, `spendBudget`
/// - `swipe`, `tap` and `rotateUpdateToken` with `localID?`
/// - `setActivitiesEnabled` and `setFrequentPushes` with `isOn`
/// - `setNotificationAuthorization` with `status`
/// - `signIn` with `user?`
/// - `startLocally` with `attributesType`, `attributes`, `contentState`, `activity?`, `staleDate?`, `relevance?`,
///   `channel?`
/// - `updateLocally` with `localID`, `contentState`, `staleDate?`
/// - `endLocally` with `localID`, `contentState?`, `dismissNow?`
///
/// Dates of actions are seconds since 1970.
///
/// Effects of faults:
///
/// - `refuse` with `status` and `reason`
/// - `stall`
/// - `refuseStream`
/// - `loseAnswer` with `loss` (`reset`, `close`, `abort`, `silence`)
/// - `slow` with `seconds`
/// - `delay` with `seconds`
/// - `goAway` with `reason` and `last` (`this`, `previous` or a number)
/// - `limitStreams` with `streams`
struct ControlRouter: Sendable {
    let simulator: APNSSimulator
    let access: ControlAccess

    typealias Context = BasicRequestContext

    /// Maximum size of a body, in bytes.
    private static let longestBody = 1 << 20
    /// Maximum number of phones or pushes in one answer.
    private static let longestPage = 1000

    var router: Router<Context> {
        let router = Router(context: Context.self)
        router.add(middleware: ProblemMiddleware(access: access))
        router.get("v1/simulator") { _, _ in try reply(simulatorView) }
        router.get("v1/ca.pem") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "application/x-pem-file"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: simulator.caPEM)))
        }
        addKeys(to: router)
        addPhones(to: router)
        addCrowds(to: router)
        addChannels(to: router)
        addRest(to: router)
        return router
    }

    private func addKeys(to router: Router<Context>) {
        router.post("v1/keys") { request, _ in
            let (key, p8) = try await body(KeyBody.self, of: request).key()
            simulator.add(key)
            var view: JSONObject = ["keyID": .string(key.keyID), "teamID": .string(key.teamID)]
            if let p8 { view["p8"] = .string(p8) }
            return try reply(.object(view), status: .created)
        }
        router.delete("v1/keys/:keyID") { _, context in
            simulator.removeKey(try context.parameters.require("keyID"))
            return Response(status: .noContent)
        }
    }

    private func addPhones(to router: Router<Context>) {
        router.post("v1/phones") { request, _ in
            let body = try await body(PhonesBody.self, of: request)
            let specifications = try body.specifications(installing: simulator.configuration.activityTypes)
            var ids: [JSONValue] = []
            for specification in specifications { ids.append(.string(try simulator.addPhone(specification).text)) }
            return try reply(["phones": .array(ids)], status: .created)
        }
        router.get("v1/phones") { request, _ in
            let phones = simulator.phones
            let after = request.uri.queryParameters["after"].map(String.init)
            let start = try after.map { after in
                guard let index = phones.firstIndex(where: { $0.text == after }) else {
                    throw SimulatorError(.unknownPhone, "`after` names no phone")
                }
                return index + 1
            }
            let page = phones.dropFirst(start ?? 0).prefix(try limit(of: request))
            return try reply(["phones": .array(try page.map { try simulator.summary(of: $0) })])
        }
        router.get("v1/phones/:phone") { _, context in
            let phone = try phone(context)
            return try reply([
                "id": .string(phone.text), "lockScreen": try simulator.lockScreen(of: phone).view,
                "log": .array(try simulator.deviceLog(of: phone).map(\.view)),
            ])
        }
        router.get("v1/phones/:phone/tokens") { _, context in
            try reply(try simulator.tokensView(of: try phone(context)))
        }
        router.post("v1/phones/:phone/actions") { request, context in
            let action = try ActionBody.parse(try await value(of: request))
            let localID = try simulator.perform(action, on: try phone(context))
            return try reply(localID.map { ["localID": .string($0)] } ?? [:])
        }
    }

    private func addRest(to router: Router<Context>) {
        router.post("v1/clock/advance") { request, _ in
            let seconds = try await body(AdvanceBody.self, of: request).seconds
            try simulator.advance(by: .bounded(seconds: seconds))
            return try reply([
                "now": .string(simulator.now.description), "aheadSeconds": simulator.aheadSeconds,
            ])
        }
        router.get("v1/faults") { _, _ in try reply(["faults": .array(simulator.faults.map(\.view))]) }
        router.put("v1/faults") { request, _ in
            simulator.faults = try await body(FaultsBody.self, of: request).rules()
            return Response(status: .noContent)
        }
        router.delete("v1/faults") { _, _ in
            simulator.faults = []
            return Response(status: .noContent)
        }
        router.post("v1/connections/go-away") { request, _ in
            let body = try await body(GoAwayBody.self, of: request)
            simulator.goAway(reason: body.reason ?? "Shutdown", lastStreamID: try body.checkedLastStreamID())
            return Response(status: .noContent)
        }
        router.post("v1/connections/streams") { request, _ in
            simulator.limitStreams(to: try await body(StreamsBody.self, of: request).checkedStreams())
            return Response(status: .noContent)
        }
        router.post("v1/connections/abort") { _, _ in
            simulator.abortConnections()
            return Response(status: .noContent)
        }
        router.get("v1/pushes") { request, _ in
            let after = try number("after", of: request) ?? 0
            let pushes = simulator.received.filter { $0.number > after }.prefix(try limit(of: request))
            return try reply(["pushes": .array(pushes.map(\.view))])
        }
        router.get("v1/changes") { request, _ in
            let phone = try request.uri.queryParameters["phone"].map { try phoneID(String($0)) }
            if let phone { _ = try simulator.lockScreen(of: phone) }
            return changes(of: phone)
        }
    }

    // MARK: Parts

    private func changes(of phone: PhoneID?) -> Response {
        let changes = simulator.changes(of: phone)
        let body = ResponseBody { writer in
            // The headers are sent with the first bytes, so a client knows at once that it is connected.
            try await writer.write(ByteBuffer(string: ": connected\n\n"))
            for await change in changes {
                let text =
                    switch change {
                    case .phone(let id): "event: phone\ndata: {\"phone\":\"\(id)\"}\n\n"
                    case .push: "event: push\ndata: {\"received\":\(simulator.receivedCount)}\n\n"
                    }
                try await writer.write(ByteBuffer(string: text))
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    private var simulatorView: JSONValue {
        get throws {
            var ports: JSONObject = [:]
            for (environment, port) in simulator.boundPorts ?? [:] { ports[environment.rawValue] = .init(port) }
            return [
                "host": .string(simulator.configuration.host), "ports": .object(ports),
                "now": .string(simulator.now.description), "aheadSeconds": simulator.aheadSeconds,
                "phones": .init(simulator.phones.count), "connections": .init(simulator.connectionCount),
                "received": .init(simulator.receivedCount), "receivedBytes": .init(simulator.receivedBytes),
            ]
        }
    }

    func value(of request: Request) async throws -> JSONValue {
        let buffer = try await request.body.collect(upTo: Self.longestBody)
        // A call whose fields are all optional needs no body.
        guard buffer.readableBytes > 0 else { return [:] }
        return try JSONValue(parsing: buffer.readableBytesView)
    }

    func body<Body: Decodable>(_ type: Body.Type, of request: Request) async throws -> Body {
        try await value(of: request).decode(type)
    }

    func reply(_ value: JSONValue, status: HTTPResponse.Status = .ok) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.bytes)))
    }

    private func phone(_ context: Context) throws -> PhoneID {
        try phoneID(try context.parameters.require("phone"))
    }

    private func phoneID(_ text: String) throws -> PhoneID {
        guard let phone = PhoneID(text) else { throw SimulatorError(.unknownPhone, "no phone has such an id") }
        return phone
    }

    func limit(of request: Request) throws -> Int {
        min(max(1, try number("limit", of: request) ?? Self.longestPage), Self.longestPage)
    }

    private func number(_ name: String, of request: Request) throws -> Int? {
        guard let text = request.uri.queryParameters[Substring(name)] else { return nil }
        guard let number = Int(text) else { throw SimulatorError(.badValue, "`\(name)` is not a whole number") }
        return number
    }
}
