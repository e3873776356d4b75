import APNSModel
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage
import Logging

/// The calls of phones, or of the app's backend for them. Each answers with what the phone should show now.
enum PhoneCalls {
    /// `PUT /v1/devices/{device}`: registers a phone's owner and abilities. Absent members stay unchanged.
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
            // Other tokens have this refusal too. Here its pointer names this body's field.
            let isOfToken = error.code == .deadToken || error.code == .tooManyTokens
            throw isOfToken ? error.pointing(at: "/deviceToken") : error
        }
        call.note("device", command.body.deviceToken?.masked, on: device)
        // Issued separately, so that a repeated call gets a credential too. The stored answer of a call must not
        // contain it.
        let credential = wantsCredential ? try await handOut(device, done.reply, in: call) : nil
        return try await desiredStates(
            on: device, done.reply, isReplayed: done.isReplayed, credential: credential, in: call)
    }

    /// Registers a device. If its former person has very many activities, the device is first handed over page by page.
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

    /// Returns the hash of the credential that a person shows beside their own token, if it proves that they hold this
    /// phone.
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

    /// `DELETE /v1/devices/{device}/credential`: revokes the phone's credentials. It then needs its person's token or a
    /// key.
    @Sendable static func revokeCredentials(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let done = try await call.commit(RevokeCredentials(app: call.app.bundleID, id: device))
        return try Answer(CredentialsRevokedAnswer(revoked: done.reply.revoked), isReplayed: done.isReplayed)
    }

    /// `PUT /v1/devices/{device}/push-to-start-tokens/{type}`: stores the newest token that starts this type on the
    /// phone.
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

    /// `PUT /v1/devices/{device}/instances/{localID}`: stores a report of one card.
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

    /// `PUT /v1/devices/{device}/instances`: stores a report of all cards. A card that is not listed no longer exists.
    @Sendable static func reportInventory(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        var command = try call.decode(InventoryRequest.self).command(of: device, in: call)
        command.reporter = call.caller.reporter
        let done = try await call.commit(command)
        return try await desiredStates(
            on: device, done.reply.device, isReplayed: done.isReplayed, supersededBy: done.reply.supersededBy, in: call)
    }

    /// `DELETE /v1/devices/{device}`: signs the person out. From now on the phone's cards are only ended.
    @Sendable static func signOut(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        var command = SignOutDevice(app: call.app.bundleID, id: device, now: call.now)
        command.reporter = call.caller.reporter
        let done = try await call.commit(command)
        return try await desiredStates(on: device, done.reply, isReplayed: done.isReplayed, in: call)
    }

    /// Answers with the current states, even for a repeated call, because a phone must show the newest state.
    private static func desiredStates(
        on device: DeviceID, _ key: DeviceKey, isReplayed: Bool, credential: String? = nil, supersededBy: Int64? = nil,
        in call: Call
    ) async throws(Problem) -> Answer {
        // In a batch nobody passes the states to the phone.
        if call.isLine { return try Answer([String: String](), isReplayed: isReplayed) }
        let activities = try await call.ask { () async throws(StorageError) in
            try await call.services.store.activities(on: device, of: call.app.bundleID)
        }
        try await checkOwner(of: device, key, in: call)
        let facts = try await channelFacts(of: key, activities.map(\.state), in: call)
        var answer = DesiredStatesAnswer(
            activities: activities.compactMap {
                var desired = DesiredStatesAnswer.DesiredState($0.state, $0.card, on: device, app: call.app)
                if let facts { desired?.nameChannel($0.state, $0.card, on: facts, app: call.app) }
                return desired
            },
            credential: credential)
        answer.supersededBy = supersededBy.map { Int($0) }
        return try Answer(answer, isReplayed: isReplayed)
    }

    /// Returns what decides whether the app starts its cards on channels; `nil` if none of the activities has one.
    private static func channelFacts(
        of key: DeviceKey, _ states: [ActivityState], in call: Call
    ) async throws(Problem) -> DeviceFacts? {
        guard states.contains(where: { !$0.channels.isEmpty }) else { return nil }
        return try await call.ask { () async throws(StorageError) in try await call.services.store.device(key) }?.facts
    }

    /// Checks that the phone still belongs to the caller.
    ///
    /// Between a call's commit and its answer the phone may pass to another person, whose states the caller must not
    /// see. A phone does not change back within a call.
    private static func checkOwner(of device: DeviceID, _ key: DeviceKey, in call: Call) async throws(Problem) {
        guard let user = call.caller.user else { return }
        let owner = try await call.ask { () async throws(StorageError) in
            try await call.services.store.device(key)?.userID
        }
        guard owner == user else { throw Problem(Refusal.unknownDevice(device)) }
    }
}

extension Call {
    /// Logs the registration of a token, masked. The dispatcher logs when APNs refuses it.
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

/// The server's source of random bits as a generator.
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
