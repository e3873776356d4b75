import APNSModel
import JSONText
import Synchronization

/// Performs the broadcasts and channel calls of one app in one environment.
final class BroadcastRoute: Sendable {
    private let send: CallPool
    private let sendFallback: CallPool?
    private let management: CallPool
    private let prefersFallback = Mutex(false)

    init(send: CallPool, sendFallback: CallPool?, management: CallPool) {
        self.send = send
        self.sendFallback = sendFallback
        self.management = management
    }

    func manage(_ call: Call) async throws(BroadcastError) -> CallAnswer {
        try await management.perform(call)
    }

    /// Sends a broadcast to one of the two hosts that Apple's pages name.
    ///
    /// If the first host cannot be reached or answers 404, the other host is tried. If that one answers otherwise,
    /// later broadcasts try it first.
    func broadcast(_ call: Call) async throws(BroadcastError) -> CallAnswer {
        guard let sendFallback else { return try await send.perform(call) }
        let isSwapped = prefersFallback.withLock { $0 }
        let (first, second) = isSwapped ? (sendFallback, send) : (send, sendFallback)
        var fast = call
        fast.failsFast = true
        // Half of the time remains for the other host if this one never answers.
        let now = first.now
        fast.leaveBy = now + (call.deadline - now) / 2
        var refusal: CallAnswer?
        do throws(BroadcastError) {
            let answer = try await first.perform(fast)
            if answer.status != 404 { return answer }
            refusal = answer
        } catch {
            guard error.code == .cannotConnect || error.code == .notSentInTime else { throw error }
        }
        var last = call
        last.failsFast = refusal != nil
        let answer: CallAnswer
        do throws(BroadcastError) {
            answer = try await second.perform(last)
        } catch {
            // The only host that could be reached gave this answer.
            if let refusal, error.code == .cannotConnect || error.code == .notSentInTime { return refusal }
            throw error
        }
        guard answer.status != 404 else { return refusal ?? answer }
        prefersFallback.withLock { $0 = !isSwapped }
        return answer
    }
}

extension CallAnswer {
    /// Returns the answer if its status is one of these.
    ///
    /// - Throws: `BroadcastError`: `refused` for a status from 400, and `unexpectedAnswer` for any other.
    func accepted(_ statuses: Int...) throws(BroadcastError) -> Self {
        guard !statuses.contains(status) else { return self }
        guard status >= 400 else { throw unexpected("this status is not documented for the call") }
        let reason = (try? JSONValue(parsing: body))?.object?["reason"]?.string.map { BroadcastReason($0) }
        throw BroadcastError(
            .refused(status: status, reason: reason), requestID: requestID, reason?.text ?? "no reason was given")
    }

    func unexpected(_ detail: String) -> BroadcastError {
        BroadcastError(.unexpectedAnswer(status: status), requestID: requestID, detail)
    }
}
