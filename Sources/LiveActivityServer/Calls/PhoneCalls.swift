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
        let command = try call.decode(DeviceRequest.self).command(of: device, in: call)
        let isReplayed: Bool
        do throws(Problem) {
            isReplayed = try await call.commit(command).isReplayed
        } catch {
            // The same refusal as for other tokens, pointing at the field of this body.
            throw error.code == .deadToken ? error.pointing(at: "/deviceToken") : error
        }
        call.note("device", command.body.deviceToken?.masked, on: device)
        return try await desiredStates(on: device, isReplayed: isReplayed, in: call)
    }

    /// `PUT /v1/devices/{device}/push-to-start-tokens/{type}`: the newest token that starts this type here.
    @Sendable static func registerPushToStartToken(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let type = try call.type(call.parameters["type"] ?? "", pointer: nil)
        let request = try call.decode(PushToStartTokenRequest.self)
        guard let token: PushToStartToken = try Fields.token(request.token, at: "/token") else {
            throw .invalid("/token", "missing")
        }
        let done = try await call.commit(
            RegisterPushToStartToken(app: call.app, id: device, type: type.name, token: token, now: call.now))
        call.note("push-to-start", token.masked, on: device)
        return try await desiredStates(on: device, isReplayed: done.isReplayed, in: call)
    }

    /// `PUT /v1/devices/{device}/instances/{localID}`: one card, as the phone knows it.
    @Sendable static func reportCard(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let localID: LocalID = try call.id("localID")
        let report = try call.decode(InstanceRequest.self).report(of: localID, in: call, at: "")
        let done = try await call.commit(ReportCard(app: call.app, device: device, report: report, now: call.now))
        call.note("update", report.token?.masked, on: device)
        return try await desiredStates(on: device, isReplayed: done.isReplayed, in: call)
    }

    /// `PUT /v1/devices/{device}/instances`: every card of the phone; what is not listed is not there.
    @Sendable static func reportInventory(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let done = try await call.commit(try call.decode(InventoryRequest.self).command(of: device, in: call))
        return try await desiredStates(on: device, isReplayed: done.isReplayed, in: call)
    }

    /// `DELETE /v1/devices/{device}`: the person signed out; from now on the phone only has its cards ended.
    @Sendable static func signOut(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let done = try await call.commit(SignOutDevice(app: call.app.bundleID, id: device, now: call.now))
        return try await desiredStates(on: device, isReplayed: done.isReplayed, in: call)
    }

    /// What stands now, also for a call that is repeated: the newest state is what a phone is to show.
    private static func desiredStates(
        on device: DeviceID, isReplayed: Bool, in call: Call
    ) async throws(Problem) -> Answer {
        // Within a batch nobody hands it to the phone.
        if call.isLine { return try Answer([String: String](), isReplayed: isReplayed) }
        let activities = try await call.ask { () async throws(StorageError) in
            try await call.services.store.activities(on: device, of: call.app.bundleID)
        }
        return try Answer(
            DesiredStatesAnswer(activities: activities.compactMap { .init($0.state, $0.instance, app: call.app) }),
            isReplayed: isReplayed)
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
}

extension Problem {
    fileprivate func pointing(at pointer: String) -> Problem {
        var problem = self
        problem.pointer = pointer
        return problem
    }
}
