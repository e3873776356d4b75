import APNSModel
import JSONText
import Synchronization

/// The calls of one app in one environment.
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

    /// Apple's pages name two hosts: where one cannot be reached or does not know the path, the other one is asked, and
    /// from then on first.
    func broadcast(_ call: Call) async throws(BroadcastError) -> CallAnswer {
        guard let sendFallback else { return try await send.perform(call) }
        let isSwapped = prefersFallback.withLock { $0 }
        let (first, second) = isSwapped ? (sendFallback, send) : (send, sendFallback)
        var fast = call
        fast.failsFast = true
        // A host that swallows what is sent to it leaves time for the other one.
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
            // What the one said that could be reached.
            if let refusal, error.code == .cannotConnect || error.code == .notSentInTime { return refusal }
            throw error
        }
        guard answer.status != 404 else { return refusal ?? answer }
        prefersFallback.withLock { $0 = !isSwapped }
        return answer
    }
}

extension CallAnswer {
    /// The answer again, or the refusal that it is.
    func accepted(_ statuses: Int...) throws(BroadcastError) -> Self {
        guard !statuses.contains(status) else { return self }
        guard status >= 400 else { throw unexpected("it is no success that the call has") }
        let reason = (try? JSONValue(parsing: body))?.object?["reason"]?.string.map { BroadcastReason($0) }
        throw BroadcastError(
            .refused(status: status, reason: reason), requestID: requestID, reason?.text ?? "no reason was given")
    }

    func unexpected(_ detail: String) -> BroadcastError {
        BroadcastError(.unexpectedAnswer(status: status), requestID: requestID, detail)
    }
}
