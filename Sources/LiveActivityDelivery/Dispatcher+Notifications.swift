import APNSModel
import LiveActivityCore
import LiveActivityStorage
import Logging

/// Ordinary notifications of one claim, with the facts of that claim.
struct NotificationDeparture: Sendable {
    let flight: NotificationFlight
    /// Moment before the claim. The lease counts from here.
    let claimedAt: MonotonicTime
    let gate: CircuitGate
    let halvings: Int

    /// Number of pushes of each notification.
    var counts: [NotificationNumber: Int] {
        flight.seats.reduce(into: [:]) { $0[$1.notification.number, default: 0] += 1 }
    }
}

extension Dispatcher {
    /// Claims notifications and takes them from the grant.
    ///
    /// It claims at most half of the pushes that may leave, so that lanes have room beside any number of notifications.
    func claimNotifications(_ grant: inout Pacer.Grant) async throws(StorageError) -> NotificationDeparture? {
        let before = time.monotonic()
        let now = time.wall()
        let gate = circuits.gate(at: now)
        var pace = grant
        pace.pushes = max(1, grant.pushes / 2)
        let result = try await store.commit(
            ClaimNotifications(
                now: now, limits: limits.notifications, gate: gate, pace: pace,
                environments: apps.mapValues(\.environments)))
        guard case .success(let reply) = result else { return nil }
        circuits.claimed(probed: reply.probed, held: reply.held, at: now)
        report(unreadable: reply.unreadable)
        for (code, count) in reply.dropped {
            logger.info(
                "notifications are no longer attempted",
                metadata: ["reason": "\(code.rawValue)", "count": "\(count)"])
        }
        guard !reply.flight.seats.isEmpty else { return nil }
        let departure = NotificationDeparture(
            flight: reply.flight, claimedAt: before, gate: gate, halvings: grant.halvings)
        for (number, count) in departure.counts { grant.take(count, of: number) }
        return departure
    }

    /// Handles a flight of notifications from its claim to its last answer.
    func fly(_ departure: NotificationDeparture) async {
        let seats = departure.flight.seats
        let outcomes = Outcomes(count: seats.count)
        submit(departure, outcomes)
        let first = await outcomes.collected(within: limits.settleAfter, on: clock)
        let known = seats.indices.filter { first[$0] != nil }
        let late = seats.indices.filter { first[$0] == nil }
        let tallies = learn(departure, first, of: known, besides: [:])
        await settle(known.map { entry(seats[$0], first[$0]) })
        let lateCounts: [NotificationNumber: Int] = late.reduce(into: [:]) {
            $0[seats[$1].notification.number, default: 0] += 1
        }
        room.leave(departure.counts, late: lateCounts)
        guard !late.isEmpty else { return }
        defer { room.leaveLate(late.count) }
        let rest = await outcomes.collected(
            within: departure.claimedAt + limits.answerWithin - time.monotonic(), on: clock)
        // After a cancellation, nobody knows whether answers came in time. The lease runs out and they are sent again.
        let settled = Task.isCancelled ? late.filter { rest[$0] != nil } : late
        if !Task.isCancelled { _ = learn(departure, rest, of: settled, besides: tallies) }
        await settle(settled.map { entry(seats[$0], rest[$0]) })
    }

    private func submit(_ departure: NotificationDeparture, _ outcomes: Outcomes) {
        let seats = departure.flight.seats
        var pushes: [Push] = []
        var places: [Int] = []
        for (index, seat) in seats.enumerated() {
            guard let request = seat.request else {
                outcomes.record(index, .failure(PushFailure(.notSentInTime, "the token is gone")))
                continue
            }
            places.append(index)
            pushes.append(
                Push(
                    request, sendBefore: departure.claimedAt + limits.sendWithin,
                    answerBy: departure.claimedAt + limits.answerWithin))
        }
        let (faultPoints, metrics, time, sent) = (self.faultPoints, self.metrics, self.time, places)
        let submittedAt = time.monotonic()
        faultPoints.reach(.sendBefore)
        metrics.submitted(pushes.count)
        sender.submit(pushes) { index, answer in
            faultPoints.reach(.answerReceived)
            metrics.answered(
                answer, from: seats[sent[index]].token.environment, after: time.monotonic() - submittedAt)
            outcomes.record(sent[index], answer)
        }
        faultPoints.reach(.sendAfter)
    }

    private func entry(
        _ seat: NotificationFlight.Seat, _ answer: Result<PushAnswer, PushFailure>?
    ) -> SettleNotifications.Entry {
        SettleNotifications.Entry(
            seat: seat, outcome: answer ?? .failure(PushFailure(.unknownFate, "no answer in time")),
            dice: Double(dice() >> 11) * 0x1p-53)
    }

    private func learn(
        _ departure: NotificationDeparture, _ answers: [Result<PushAnswer, PushFailure>?], of places: [Int],
        besides earlier: [PushRoute: RouteTally]
    ) -> [PushRoute: RouteTally] {
        var (new, all) = ([PushRoute: RouteTally](), earlier)
        for index in places {
            let seat = departure.flight.seats[index]
            let answer = answers[index] ?? .failure(PushFailure(.unknownFate, "no answer in time"))
            new[seat.route, default: RouteTally()].add(answer, of: seat.device.key, to: seat.token.environment)
            all[seat.route, default: RouteTally()].add(answer, of: seat.device.key, to: seat.token.environment)
        }
        learn(new, besides: all, under: departure.gate, halvings: departure.halvings)
        return all
    }

    private func settle(_ entries: [SettleNotifications.Entry]) async {
        guard !entries.isEmpty else { return }
        await tellHalts()
        metrics.settled(entries)
        for entry in entries {
            noteDeath(of: entry.seat.token.value, "device", on: entry.seat.device.id, entry.outcome)
        }
        for _ in 0..<limits.settleAttempts {
            do throws(StorageError) {
                let result = try await store.commit(
                    SettleNotifications(entries: entries, apps: apps, now: time.wall()))
                if case .success(let reply) = result { report(reply) }
                return
            } catch {
                logger.error("outcomes of notifications could not be written", metadata: ["error": "\(error)"])
                try? await clock.sleep(for: limits.storagePause)
            }
        }
        // Their lease runs out, and they are sent again under the same ids.
        logger.error(
            "outcomes of notifications could not be stored and are discarded",
            metadata: ["count": "\(entries.count)"])
    }

    /// Logs a dead token: which one, on which device, and APNs's answer.
    func noteDeath(
        of token: TokenValue?, _ kind: String, on device: DeviceID, _ outcome: Result<PushAnswer, PushFailure>
    ) {
        guard let token, case .success(let answer) = outcome, case .tokenDead = answer.verdict else { return }
        logger.info(
            "APNs refused a token",
            metadata: [
                "device": "\(device)", "kind": "\(kind)", "token": "\(token)", "status": "\(answer.status)",
                "reason": "\(answer.reason?.text ?? "")",
            ])
    }

    private func report(_ reply: SettleNotifications.Reply) {
        logger.debug(
            "notifications settled",
            metadata: [
                "accepted": "\(reply.accepted)", "refused": "\(reply.refused)", "again": "\(reply.retried)",
            ])
        for parked in reply.parked {
            logger.warning(
                "a notification was refused and is not repeated",
                metadata: [
                    "app": "\(parked.app)", "apnsID": "\(parked.pushID)", "code": "\(parked.reason.code.rawValue)",
                    "reason": "\(parked.reason.text)",
                ])
        }
    }
}
