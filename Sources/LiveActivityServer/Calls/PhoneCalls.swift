import APNSModel
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import Logging

/// What phones call, or the app's backend for them. Each answers with what the phone should show now.
enum PhoneCalls {
    /// `PUT /v1/devices/{device}`: whose phone it is and what it can do; what is left out stays as it was.
    @Sendable static func register(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let request = try call.decode(DeviceRequest.self)
        var command = try request.command(of: device, in: call)
        let wantsCredential = request.wantsCredential ?? false
        guard !(wantsCredential && call.isLine) else {
            throw .invalid(
                "/wantsCredential", "not in a batch", fix: "make a call of its own: its answer is the phone's")
        }
        command.possession = try await possession(of: device, in: call)
        let done: Committed<DeviceKey>
        do throws(Problem) {
            done = try await register(command, in: call)
        } catch {
            if error.code == .deviceTaken { call.log("a device was not handed over to another person", of: device) }
            // The same refusal as for other tokens, pointing at the field of this body.
            let isOfToken = error.code == .deadToken || error.code == .tooManyTokens
            throw isOfToken ? error.pointing(at: "/deviceToken") : error
        }
        call.note("device", command.body.deviceToken?.masked, on: device)
        // By itself, so that a repeated call has one too: what is kept of a call's answer is no place for it.
        let credential = wantsCredential ? try await handOut(device, done.reply, in: call) : nil
        return try await desiredStates(
            on: device, done.reply, isReplayed: done.isReplayed, credential: credential, in: call)
    }

    /// A device with very many activities of its former person is handed over page by page first.
    private static func register(
        _ command: RegisterDevice, in call: Call
    ) async throws(Problem) -> Committed<DeviceKey> {
        do throws(Problem) {
            return try await call.commit(command)
        } catch {
            guard error.code == .deviceChangesHands else { throw error }
            var progress: HandOverDevice.Progress? = .begin
            for _ in 0..<HandOverDevice.maximumPages {
                guard let next = progress else { return try await call.commit(command) }
                progress = try await call.result(of: HandOverDevice(for: command, next))
            }
            throw error
        }
    }

    /// What a person shows beside their own token as a sign that they hold the phone, where it is one.
    private static func possession(of device: DeviceID, in call: Call) async throws(Problem) -> [UInt8]? {
        guard case .person(let app, _) = call.caller, let text = call.shownCredential,
            let (owner, hash) = try await Responder(services: call.services).proven(text), owner.app == app,
            owner.id == device
        else { return nil }
        return hash
    }

    private static func handOut(_ device: DeviceID, _ key: DeviceKey, in call: Call) async throws(Problem) -> String {
        var dice = Dice(roll: call.services.dice)
        let credential = PhoneCredential(of: key, using: &dice)
        _ = try await call.result(
            of: HandOutCredential(
                app: call.app.bundleID, id: device, secretHash: credential.secretHash, now: call.now,
                reporter: call.caller.reporter))
        return credential.text
    }

    /// `DELETE /v1/devices/{device}/credential`: the phone needs its person's own token, or a key, from now on.
    @Sendable static func revokeCredentials(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let done = try await call.commit(RevokeCredentials(app: call.app.bundleID, id: device))
        return try Answer(CredentialsRevokedAnswer(revoked: done.reply.revoked), isReplayed: done.isReplayed)
    }

    /// `PUT /v1/devices/{device}/push-to-start-tokens/{type}`: the newest token that starts this type here.
    @Sendable static func registerPushToStartToken(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let type = try call.type(call.parameters["type"] ?? "", pointer: nil)
        let request = try call.decode(PushToStartTokenRequest.self)
        guard let token: PushToStartToken = try Fields.token(request.token, at: "/token") else {
            throw .invalid("/token", "missing")
        }
        var command = RegisterPushToStartToken(
            app: call.app, id: device, type: type.name, token: token, now: call.now)
        command.reporter = call.caller.reporter
        let done = try await call.commit(command)
        call.note("push-to-start", token.masked, on: device)
        return try await desiredStates(on: device, done.reply, isReplayed: done.isReplayed, in: call)
    }

    /// `PUT /v1/devices/{device}/instances/{localID}`: one card, as the phone knows it.
    @Sendable static func reportCard(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let localID: LocalID = try call.id("localID")
        let report = try call.decode(InstanceRequest.self).report(of: localID, in: call, at: "")
        var command = ReportCard(app: call.app, device: device, report: report, now: call.now)
        command.reporter = call.caller.reporter
        let done = try await call.commit(command)
        call.note("update", report.token?.masked, on: device)
        return try await desiredStates(on: device, done.reply, isReplayed: done.isReplayed, in: call)
    }

    /// `PUT /v1/devices/{device}/instances`: every card of the phone; what is not listed is not there.
    @Sendable static func reportInventory(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        var command = try call.decode(InventoryRequest.self).command(of: device, in: call)
        command.reporter = call.caller.reporter
        let done = try await call.commit(command)
        return try await desiredStates(
            on: device, done.reply.device, isReplayed: done.isReplayed, supersededBy: done.reply.supersededBy, in: call)
    }

    /// `DELETE /v1/devices/{device}`: the person signed out; from now on the phone only has its cards ended.
    @Sendable static func signOut(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        var command = SignOutDevice(app: call.app.bundleID, id: device, now: call.now)
        command.reporter = call.caller.reporter
        let done = try await call.commit(command)
        return try await desiredStates(on: device, done.reply, isReplayed: done.isReplayed, in: call)
    }

    /// What stands now, also for a call that is repeated: the newest state is what a phone is to show.
    private static func desiredStates(
        on device: DeviceID, _ key: DeviceKey, isReplayed: Bool, credential: String? = nil, supersededBy: Int64? = nil,
        in call: Call
    ) async throws(Problem) -> Answer {
        // Within a batch nobody hands it to the phone.
        if call.isLine { return try Answer([String: String](), isReplayed: isReplayed) }
        let activities = try await call.ask { () async throws(StorageError) in
            try await call.services.store.activities(on: device, of: call.app.bundleID)
        }
        try await checkOwner(of: device, key, in: call)
        var answer = DesiredStatesAnswer(
            activities: activities.compactMap { .init($0.state, $0.card, app: call.app) }, credential: credential)
        answer.supersededBy = supersededBy.map { Int($0) }
        return try Answer(answer, isReplayed: isReplayed)
    }

    /// Between a call's commit and its answer the phone may have become another person's, whose states are not for the
    /// caller. A phone does not change back within a call.
    private static func checkOwner(of device: DeviceID, _ key: DeviceKey, in call: Call) async throws(Problem) {
        guard let user = call.caller.user else { return }
        let owner = try await call.ask { () async throws(StorageError) in
            try await call.services.store.device(key)?.userID
        }
        guard owner == user else { throw Problem(Refusal.unknownDevice(device)) }
    }
}

extension Call {
    /// The way of a token begins here, with what may be shown of it; the dispatcher tells when APNs refuses it.
    fileprivate func note(_ kind: String, _ token: String?, on device: DeviceID) {
        guard let token else { return }
        services.logger.debug(
            "a token is registered",
            metadata: ["app": "\(app.bundleID)", "device": "\(device)", "kind": "\(kind)", "token": "\(token)"])
    }

    fileprivate func log(_ event: Logger.Message, of device: DeviceID) {
        services.logger.notice(
            event, metadata: ["app": "\(app.bundleID)", "device": "\(device)", "caller": "\(caller.label)"])
    }
}

/// The server's dice as a generator.
private struct Dice: RandomNumberGenerator {
    let roll: @Sendable () -> UInt64
    mutating func next() -> UInt64 { roll() }
}

extension Problem {
    fileprivate func pointing(at pointer: String) -> Problem {
        var problem = self
        problem.pointer = pointer
        return problem
    }
}
