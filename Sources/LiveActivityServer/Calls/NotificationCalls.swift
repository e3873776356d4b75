import LiveActivityAPI
import LiveActivityCore

/// The calls about ordinary notifications.
enum NotificationCalls {
    /// `POST /v1/users/{user}/notifications`: stores a notification until each of the person's devices has it.
    ///
    /// A person without devices is not an error.
    @Sendable static func notify(_ call: Call) async throws(Problem) -> Answer {
        let user: UserID = try call.id("user")
        let request = try call.decode(NotificationRequest.self)
        let command = try request.command(to: user, in: call)
        let done = try await call.commit(command, key: try request.key(to: user, in: call))
        let reasons = done.reply.reasons.map { ActivityAnswer.ReasonCount(reason: $0.reason, count: $0.devices) }
        return try Answer(
            NotificationAnswer(
                devices: done.reply.devices, others: reasons.reduce(0) { $0 + $1.count }, reasons: reasons),
            isReplayed: done.isReplayed)
    }
}
