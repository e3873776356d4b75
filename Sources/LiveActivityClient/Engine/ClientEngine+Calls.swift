internal import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

/// The part of the engine that makes calls to the server: it chooses the credential and passes on the answer.
extension ClientEngine {
    func carry(_ call: PhoneCall) async {
        // A push-to-start token may have changed without notice since the call was decided.
        readStartTokens()
        guard await isDue(call) else { return }
        let answer = await answer(to: call)
        let dice = parts.dice()
        say { $0.answered(call.number, answer, dice: dice, $1) }
    }

    private func isDue(_ call: PhoneCall) async -> Bool {
        await ask { $0.machine.isDue(call.number, $1) } ?? false
    }

    /// Makes a call with the phone's own credential, if the server gave one. The machine decides what follows when that
    /// is refused. Otherwise the call uses the person's credential.
    private func answer(to call: PhoneCall) async -> PhoneAnswer? {
        guard let kept = await ask({ state, _ in state.identity.credentials }) else { return nil }
        if let own = kept.own { return await send(call, own) }
        let proof = call.showsProof ? kept.proof : nil
        return await answer(to: call, known: kept.borrowed, proof: proof) { await self.isDue(call) }
    }

    /// Makes a call that joins, with the phone's own credential, if the server gave one.
    ///
    /// Otherwise, and if the server refuses that one, the call uses the person's credential. The phone's own stays: the
    /// server refuses the machine's next call too, and the machine decides what follows.
    func answer(toJoin join: JoinCall) async -> PhoneAnswer? {
        if let own = join.credentials.own {
            let reply = await send(join.call, own)
            if reply.map(Self.refusesCredential) != true { return reply }
        }
        return await answer(to: join.call, known: join.credentials.borrowed) {
            let epoch = await self.ask { state, _ in state.machine.epoch }
            return epoch == join.epoch
        }
    }

    /// Makes a call with the person's credential. If the server refuses it, the app is asked once more, because the
    /// credential may be too old or belong to the previous person.
    ///
    /// - Parameters:
    ///   - known: The person's credential, or `nil` if the app must be asked.
    ///   - isDue: Returns `true` if the call is still to be made. The app's answer may take a while.
    private func answer(
        to call: PhoneCall, known: String?, proof: String? = nil, isDue: () async -> Bool
    ) async -> PhoneAnswer? {
        guard let given = await borrow(known, refused: nil), await isDue() else { return nil }
        let answer = await send(call, given, proof: proof)
        guard let answer, Self.refusesCredential(answer), let fresh = await borrow(nil, refused: given),
            await isDue()
        else { return answer }
        // A second attempt with the same credential would get the same 403.
        return answer.status == 403 && fresh == given ? answer : await send(call, fresh, proof: proof)
    }

    private static func refusesCredential(_ answer: PhoneAnswer) -> Bool {
        answer.status == 401 || answer.status == 403 && answer.code != "device_taken"
    }

    /// Returns the person's credential, from memory or from the app. It is kept for the call that signs out, because
    /// the person's session may be over by then.
    private func borrow(_ known: String?, refused: String?) async -> String? {
        if let known { return known }
        let epoch = await ask { state, _ in state.machine.epoch }
        guard let epoch, let fresh = try? await parts.credentials(refused) else { return nil }
        post { state, _ in
            // A person who signed in meanwhile must never use the previous person's credential.
            guard state.machine.epoch == epoch else { return }
            state.identity.credentials.borrow(fresh, of: state.machine.memory.user)
            self.remember(state.identity)
        }
        return fresh
    }

    private func send(_ call: PhoneCall, _ credential: String, proof: String? = nil) async -> PhoneAnswer? {
        let request = ClientRequest(
            method: call.method.rawValue, path: call.path, body: call.body.map { Data($0) }, credential: credential,
            proof: proof)
        guard let response = try? await parts.transport.send(request) else { return nil }
        return PhoneAnswer(
            status: response.status, body: Array(response.body),
            date: response.date.map { Int($0.timeIntervalSince1970.rounded(.down)) })
    }
}
