package import APNSModel

/// Stores the outcome of one operation on a channel.
package struct SettleChannel: Command {
    package enum Outcome: Sendable, Equatable {
        case created(ChannelID)
        case done
        case failed(BroadcastError)
        /// The payload could not be built.
        case notBuilt(PayloadError)
    }

    package struct Reply: Sendable, Equatable {
        /// `true` if a rescue had closed the operation, so that the outcome changed nothing.
        package var isLate = false
        /// `true` if the channel is gone from APNs.
        package var isDeleted = false
    }

    package let errand: ChannelErrand
    package let outcome: Outcome
    package let now: UnixTime
    /// Random number from 0 to 1 for the jitter of a retry.
    package let dice: Double

    package init(_ errand: ChannelErrand, _ outcome: Outcome, now: UnixTime, dice: Double) {
        self.errand = errand
        self.outcome = outcome
        self.now = now
        self.dice = dice
    }

    package static var mayBeRefused: Bool { false }
    package var rank: CommandRank { .settle }
    package var keys: [SnapshotKey] { [.channel(errand.channel.key)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        let key = errand.channel.key
        guard var channel = draft.snapshot.channels[key], channel.fence == errand.fence, channel.flight != nil else {
            return Reply(isLate: true)
        }
        if errand.flight.kind == .delete, isGone {
            draft.removeChannel(key)
            record(Reason(.accepted), &draft)
            return Reply(isDeleted: true)
        }
        let consequence = settle(&channel)
        record(consequence, &draft)
        if isReady(channel, draft) { draft.callWaiting(&channel, at: now) }
        if errand.flight.kind == .end, channel.ends == 1 { draft.beginLap(after: channel, at: now) }
        // The next claim decides what follows.
        channel.look(at: now)
        draft.put(channel)
        return Reply()
    }

    private var isGone: Bool {
        switch outcome {
        case .done: true
        case .failed(let error): error.isChannelGone
        case .created, .notBuilt: false
        }
    }

    private func isReady(_ channel: ChannelRecord, _ draft: Draft) -> Bool {
        switch channel.life {
        case .open: channel.flight == nil && channel.retryAt == nil
        case .refused: true
        case .wanted, .lost: channel.tries >= DesiredSituation.channelPatience
        }
    }

    /// Applies the outcome.
    ///
    /// - Returns: The reason for the timeline.
    private func settle(_ channel: inout ChannelRecord) -> Reason {
        switch outcome {
        case .created(let id):
            channel.open(id)
            return Reason(.accepted)
        case .done:
            channel.accept(isHigh: errand.plan?.priority == .high)
            return Reason(.accepted)
        case .notBuilt(let error):
            let reason = Reason(.payloadRefused, error.description)
            channel.park(reason)
            return reason
        case .failed(let error): return fail(error, &channel)
        }
    }

    private func fail(_ error: BroadcastError, _ channel: inout ChannelRecord) -> Reason {
        let kind = errand.flight.kind
        let tries = channel.tries + 1
        if error.mayHaveHappened {
            let time = now + RetryDelay.unknownFate(tries: tries, dice: dice)
            let reason = Reason(.unknownFate, error.detail, time.description)
            channel.doubt(repeatsAlert: repeatsAlert, retryAt: time, reason)
            return reason
        }
        switch error.code {
        case .refused(let status, let text):
            if error.isChannelGone, errand.flight.isBroadcast {
                channel.disappear()
                return Reason(.channelGone)
            }
            return refuse(status, text?.text ?? "", error, tries, &channel)
        case .notConfigured:
            let reason = Reason(.notConfigured, channel.key.environment.rawValue)
            channel.fail(at: now + RetryDelay.halted, reason, counts: true)
            return reason
        case .cannotConnect, .refusedByPeer:
            let time = now + RetryDelay.service(tries: tries, dice: dice)
            channel.fail(at: time, Reason(.connection, "\(error.code)", time.description), counts: true)
        case .overloaded, .notSentInTime, .stopping:
            let time = now + RetryDelay.notSent
            channel.fail(at: time, Reason(.notSent, "\(error.code)", time.description), counts: false)
        case .unknownFate, .unexpectedAnswer: break
        }
        return channel.reason ?? Reason(.notSent, "\(kind)", now.description)
    }

    private func refuse(
        _ status: Int, _ text: String, _ error: BroadcastError, _ tries: Int, _ channel: inout ChannelRecord
    ) -> Reason {
        let time: UnixTime
        let reason: Reason
        switch status {
        case 429:
            time = now + RetryDelay.token(tries: tries, dice: dice)
            reason = Reason(.slowDown, time.description)
        case 500...:
            time = now + RetryDelay.service(tries: tries, dice: dice)
            reason = Reason(.serviceTrouble, String(status), text, time.description)
        case 403:
            time = now + RetryDelay.halted
            reason = Reason(.halted, String(status), text, "key", time.description)
        default:
            if errand.flight.kind == .create || error.reason == .featureNotEnabled {
                time = now + ChannelReconciler.refusalPause
                reason = Reason(.channelRefused, text.isEmpty ? String(status) : text)
                if errand.flight.kind == .create {
                    channel.refuse(reason, retryAt: time)
                    return reason
                }
            } else if errand.flight.isBroadcast {
                let reason = Reason(.parked, String(status), text)
                channel.park(reason)
                return reason
            } else {
                time = now + ChannelReconciler.refusalPause
                reason = Reason(.parked, String(status), text)
            }
        }
        channel.fail(at: time, reason, counts: true)
        return reason
    }

    private var repeatsAlert: Bool {
        errand.flight.alertRevision > 0 && errand.desired?.activity.alert?.onUnknown == .repeat
    }

    private func record(_ consequence: Reason, _ draft: inout Draft) {
        guard let activity = draft.snapshot.activities[errand.channel.key.activity] else { return }
        let status: Int =
            switch outcome {
            case .created, .done: 200
            case .failed(let error): if case .refused(let status, _) = error.code { status } else { 0 }
            case .notBuilt: 0
            }
        draft.record(
            HistoryEntry(
                errand.flight.kind.historyKind, at: now, revision: errand.flight.revision,
                timestamp: errand.flight.timestamp, priority: errand.plan?.priority.rawValue ?? 0,
                carriesAlert: errand.flight.alertRevision > 0, status: status, reason: errand.plan?.reason,
                outcome: consequence, detail: errand.channel.key.environment.rawValue),
            of: activity)
    }
}

extension ChannelFlight.Kind {
    var historyKind: HistoryEntry.Kind {
        switch self {
        case .create: .channelMade
        case .update: .broadcast
        case .end: .broadcastEnd
        case .delete: .channelDeleted
        }
    }
}
