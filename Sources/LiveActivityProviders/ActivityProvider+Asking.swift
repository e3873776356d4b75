import APNSModel
package import LiveActivityCore

extension ActivityProvider {
    /// Asks the provider with the core's types for question and answer.
    package func answer(to question: RefreshQuestion) async throws(RefreshFailure) -> RefreshAnswer? {
        do {
            return try await answer(ProviderQuestion(question)).map(RefreshAnswer.init)
        } catch let failure as RefreshFailure {
            throw failure
        } catch {
            throw RefreshFailure(.threw, "the provider threw \(type(of: error))")
        }
    }
}

extension ProviderQuestion {
    init(_ question: RefreshQuestion) {
        self.init(
            app: question.app.text, type: question.type, user: question.user.text,
            devices: question.devices.map(\.text), timeZone: question.zone, localDay: question.day, now: question.now,
            memo: question.memo)
    }
}

extension RefreshAnswer {
    init(_ answer: ProviderAnswer) {
        self.init(state: answer.state)
        attributes = answer.attributes
        memo = answer.memo
        relevance = answer.relevance
        staleAt = answer.staleAt
        alert = answer.alert.map { alert in
            var wish = SetDesiredState.AlertWish(alert)
            wish.id = answer.alertID
            return wish
        }
        priority =
            switch answer.priority {
            case .low: .low
            case .auto: .auto
            case .high: .high
            }
        askAgainAt = answer.askAgainAt
    }
}
