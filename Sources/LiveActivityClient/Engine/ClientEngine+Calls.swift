internal import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

/// How the shell talks to the server: with which credential, and what it makes of an answer.
extension ClientEngine {
    func carry(_ call: PhoneCall) async {
        // A start token may have changed without a word since the call was decided.
        readStartTokens()
        guard await isDue(call) else { return }
        let answer = await answer(to: call)
        let dice = parts.dice()
        say { $0.answered(call.number, answer, dice: dice, $1) }
    }

    private func isDue(_ call: PhoneCall) async -> Bool {
        await ask { $0.machine.isDue(call.number, $1) } ?? false
    }

    /// The phone's own credential, where the server gave one: what to do when it is refused is the machine's matter.
    /// Else the person's, which is asked for once more when the server refuses what was given: it may be too old, or
    /// the one before's.
    private func answer(to call: PhoneCall) async -> PhoneAnswer? {
        guard let kept = await ask({ state, _ in state.identity.credentials }) else { return nil }
        if let own = kept.own { return await send(call, own) }
        let proof = call.showsProof ? kept.proof : nil
        guard let given = await borrow(kept.borrowed, refused: nil), await isDue(call) else { return nil }
        let answer = await send(call, given, proof: proof)
        guard let answer, Self.refusesCredential(answer), let fresh = await borrow(nil, refused: given),
            await isDue(call)
        else { return answer }
        // Who may not do it may not do it either when asked again.
        return answer.status == 403 && fresh == given ? answer : await send(call, fresh, proof: proof)
    }

    private static func refusesCredential(_ answer: PhoneAnswer) -> Bool {
        answer.status == 401 || answer.status == 403 && answer.code != "device_taken"
    }

    /// Kept for the call that signs out: the person's own may be gone by then.
    private func borrow(_ known: String?, refused: String?) async -> String? {
        if let known { return known }
        let epoch = await ask { state, _ in state.machine.epoch }
        guard let epoch, let fresh = try? await parts.credentials(refused) else { return nil }
        post { state, _ in
            // Whoever came meanwhile never speaks with what was given for the one before.
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
