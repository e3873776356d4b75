import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls about audiences.
enum AudienceCalls {
    /// `POST /v1/activities/{activity}/audience`: adds and removes people, or replaces the audience at once or page by
    /// page.
    ///
    /// People whom a replacement leaves out are removed in steps, each with its own commit. A call that was interrupted
    /// between two steps can be repeated.
    @Sendable static func change(_ call: Call) async throws(Problem) -> Answer {
        let id: ActivityID = try call.id("activity")
        var command = try call.decode(AudienceRequest.self).command(of: id, in: call)
        command.preconditions = try call.preconditions(sequence: nil)
        if let dry = try DryRun(call) {
            guard command.isPreviewable else {
                throw Problem(.invalidQuery, "a page of a replacement has no dry run", fix: "try the whole audience")
            }
            let preview = try await dry.preview(command, of: id, in: call)
            var answer = AudienceAnswer(preview.reply)
            answer.take(dry.tally(preview, call), total: preview.state.phones)
            answer.dryRun = true
            (answer.devices, answer.next) = dry.page(preview, call)
            return try Answer(answer, revision: preview.reply.revision)
        }
        var done = try await call.commit(command)
        while let sweep = done.reply.sweep {
            done = try await call.commit(
                SweepAudience(app: call.app.bundleID, id: id, reply: done.reply, sweep: sweep, now: call.now))
        }
        var answer = AudienceAnswer(done.reply)
        if !call.isLine {
            let found = try await call.ask { () async throws(StorageError) in
                try await call.services.store.activityWithPhones(call.app.bundleID, id)
            }
            guard let found else { throw Problem(Refusal.unknownActivity(id)) }
            let (tally, total) = try await ActivityCalls.tally(of: found, in: call)
            answer.take(tally, total: total)
        }
        return try Answer(answer, revision: done.reply.revision, isReplayed: done.isReplayed)
    }
}

extension ChangeAudience {
    /// The effect of a page is only known once the other pages have arrived.
    fileprivate var isPreviewable: Bool {
        switch change {
        case .change, .replace: true
        case .page: false
        }
    }
}

extension AudienceAnswer {
    fileprivate init(_ reply: ChangeAudience.Reply) {
        self.init(
            added: reply.added, removed: reply.removed, unchanged: reply.unchanged, members: reply.members,
            revision: Int(reply.revision), phase: reply.phase.rawValue)
    }

    fileprivate mutating func take(_ tally: Outlook.Tally, total: Int) {
        phones = tally.phones
        reasons = total == 0 ? [.init(reason: "nothing-to-update", count: 0)] : tally.reasons
        summary = tally.summary(total: total)
        estimated = tally.isEstimate ? true : nil
        more = total > tally.counted ? total - tally.counted : nil
    }
}
