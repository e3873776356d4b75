internal import LiveActivityAPI
internal import LiveActivityRegistration

/// The part of the engine that asks the server what a card needs that the app wants to start.
extension ClientEngine {
    /// A call that joins an activity for the person who is signed in.
    struct JoinCall: Sendable {
        let activity: String
        let type: String
        let call: PhoneCall
        /// The machine's epoch. Another one means another person.
        let epoch: Int
        /// The credentials of that person and their phone.
        let credentials: PhoneCredentials
    }

    /// The result of a call that joins.
    struct Joined: Sendable {
        let outcome: JoinOutcome
        /// The machine's epoch in which the app asked.
        let epoch: Int
    }

    /// Asks the server what a card of an activity needs, for the person who is signed in.
    ///
    /// - Returns: `nil` if the client has ended, the task is canceled, or the person changed meanwhile.
    func join(_ activity: String, as type: String) async -> Joined? {
        let phone = parts.phone
        return await Promise.wait { promise in
            self.post { state, _ in
                let epoch = state.machine.epoch
                switch state.machine.join(activity, as: type, in: phone.facts().environment) {
                case .known(let outcome): promise.give(Joined(outcome: outcome, epoch: epoch))
                case .ask(let call):
                    state.joins[call.number] = promise
                    self.joinInput.yield(
                        JoinCall(
                            activity: activity, type: type, call: call, epoch: epoch,
                            credentials: state.identity.credentials))
                }
            }
        }
    }

    /// Makes a call that joins. Its caller waits as long as the machine waits for its own calls, also where the app's
    /// closure hangs.
    func carry(_ join: JoinCall) async {
        let deadline = parts.limits.answerPatience.map { parts.clock.steady + $0 }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                let answer = await self.answer(toJoin: join)
                self.conclude(join, JoinOutcome(answer, of: join.activity, as: join.type))
            }
            if let deadline {
                group.addTask {
                    do { try await self.parts.clock.sleep(until: deadline) } catch { return }
                    self.conclude(join, .noAnswer)
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Passes on an outcome, the first one if there are two. It is dropped if the person has changed, because the next
    /// person did not ask.
    private func conclude(_ join: JoinCall, _ outcome: JoinOutcome) {
        post { state, _ in
            let promise = state.joins.removeValue(forKey: join.call.number)
            guard state.machine.epoch == join.epoch else { return }
            promise?.give(Joined(outcome: outcome, epoch: join.epoch))
        }
    }
}
