import APNSModel
import LiveActivityCore
import LiveActivityStorage
import Logging

/// A claimed flight with the facts of its claim.
struct Departure: Sendable {
    let flight: Flight
    /// Moment before the claim. The lease counts from here.
    let claimedAt: MonotonicTime
    let gate: CircuitGate
    let halvings: Int
}

extension Dispatcher {
    /// Pushes of a flight whose answers did not come before it was settled.
    private struct Stragglers {
        let app: AppSettings
        let seats: [Int]
        /// Those of them that the sender has.
        let sent: [Int]
        let outcomes: Outcomes
        let awaitedUntil: UnixTime
        /// Tallies of the flight's earlier answers.
        let tallies: [APNSEnvironment: RouteTally]
    }

    /// Handles a flight from its claim to its last answer.
    func fly(_ departure: Departure) async {
        metrics.flightOpened()
        defer { metrics.flightClosed() }
        let stragglers = await deliver(departure)
        room.leave(departure.flight, late: stragglers?.seats.count ?? 0)
        guard let stragglers else { return }
        await follow(stragglers, of: departure)
        room.leaveLate(stragglers.seats.count)
    }

    /// Sends a flight and settles the answers that come in time.
    ///
    /// - Returns: The pushes that are still unanswered; `nil` if there are none. The lane is free for other flights.
    private func deliver(_ departure: Departure) async -> Stragglers? {
        let flight = departure.flight
        guard let app = apps[flight.desired.activity.app] else { return nil }
        let trace = traces.map { FlightTrace($0, flight) }
        defer { trace?.end() }
        let outcomes = Outcomes(count: flight.seats.count)
        var notBuilt: [Int: PayloadError] = [:]
        var pushes: [Push] = []
        var sent: [Int] = []
        for (index, seat) in flight.seats.enumerated() {
            do throws(PayloadError) {
                guard let request = try flight.request(of: seat) else {
                    outcomes.record(index, .failure(PushFailure(.notSentInTime, "the token is gone")))
                    continue
                }
                sent.append(index)
                pushes.append(
                    Push(
                        request, sendBefore: departure.claimedAt + limits.sendWithin,
                        answerBy: departure.claimedAt + limits.answerWithin))
            } catch {
                notBuilt[index] = error
                outcomes.record(index, .failure(PushFailure(.notSentInTime, "the payload cannot be built")))
            }
        }
        let places = sent
        let (faultPoints, metrics, time) = (self.faultPoints, self.metrics, self.time)
        let (sentAt, submittedAt) = (time.wall(), time.monotonic())
        faultPoints.reach(.sendBefore)
        metrics.submitted(pushes.count)
        trace?.sends(places.map { flight.seats[$0] })
        sender.submit(pushes) { index, answer in
            faultPoints.reach(.answerReceived)
            trace?.answered(index, answer)
            metrics.answered(
                answer, flight.seats[places[index]], of: flight, sentAt: sentAt,
                after: time.monotonic() - submittedAt)
            outcomes.record(places[index], answer)
        }
        faultPoints.reach(.sendAfter)

        let awaitedUntil = sentAt + limits.answerWithin + limits.writeWithin
        let first = await outcomes.collected(within: limits.settleAfter, on: clock)
        let tallies = learn(departure, first, of: sent)
        let entries = flight.seats.indices.map { index in
            entry(flight.seats[index], first[index], notBuilt[index], awaitedUntil: awaitedUntil)
        }
        metrics.settled(entries, of: flight)
        trace?.settled(entries)
        // Without this settlement the flight stays open. Settling only the late pushes would close it and lose the
        // others.
        guard await settle(flight, entries, app) else { return nil }
        let late = first.indices.filter { first[$0] == nil }
        guard !late.isEmpty else { return nil }
        return Stragglers(
            app: app, seats: late, sent: sent.filter { first[$0] == nil }, outcomes: outcomes,
            awaitedUntil: awaitedUntil, tallies: tallies)
    }

    private func follow(_ late: Stragglers, of departure: Departure) async {
        let answers = await late.outcomes.collected(
            within: departure.claimedAt + limits.answerWithin - time.monotonic(), on: clock)
        // After a cancellation, nobody knows whether answers came in time. The rows say that answers are awaited.
        let known = Task.isCancelled ? late.seats.filter { answers[$0] != nil } : late.seats
        guard !known.isEmpty else { return }
        let final = answers.map { $0 ?? .failure(PushFailure(.unknownFate, "no answer in time")) }
        if !Task.isCancelled { _ = learn(departure, final, of: late.sent, besides: late.tallies) }
        let entries = known.map { index in
            var entry = entry(departure.flight.seats[index], final[index], nil, awaitedUntil: late.awaitedUntil)
            entry.awaitedUntil = late.awaitedUntil
            return entry
        }
        metrics.settled(entries, of: departure.flight)
        _ = await settle(departure.flight, entries, late.app)
    }

    /// Passes the answers to the circuits and the pacer.
    ///
    /// - Parameter earlier: Tallies of the flight's earlier answers. Late pushes alone would look as if APNs answered
    ///   none.
    /// - Returns: The tallies of all answers so far.
    private func learn(
        _ departure: Departure, _ answers: [Result<PushAnswer, PushFailure>?], of sent: [Int],
        besides earlier: [APNSEnvironment: RouteTally] = [:]
    ) -> [APNSEnvironment: RouteTally] {
        let flight = departure.flight
        var new: [APNSEnvironment: RouteTally] = [:]
        var all = earlier
        for index in sent {
            guard let answer = answers[index] else { continue }
            let seat = flight.seats[index]
            let environment = seat.phone.environment(of: seat.plan.kind)
            new[environment, default: RouteTally()].add(answer, of: seat.phone.device.key, to: environment)
            all[environment, default: RouteTally()].add(answer, of: seat.phone.device.key, to: environment)
        }
        func routes(_ tallies: [APNSEnvironment: RouteTally]) -> [PushRoute: RouteTally] {
            Dictionary(
                tallies.map { (PushRoute(flight.desired.activity.app, $0.key), $0.value) },
                uniquingKeysWith: { first, _ in first })
        }
        learn(routes(new), besides: routes(all), under: departure.gate, halvings: departure.halvings)
        return all
    }

    /// - Parameter all: Tallies of each route, with those of the flight's earlier answers.
    func learn(
        _ new: [PushRoute: RouteTally], besides all: [PushRoute: RouteTally], under gate: CircuitGate, halvings: Int
    ) {
        let now = time.wall()
        for (route, tally) in new {
            let dice = Double(dice() >> 11) * 0x1p-53
            if circuits.record(route, all[route] ?? tally, under: gate, at: now, dice: dice) { signal.raise() }
            if room.record(route, tally, halvings: halvings, at: now) {
                logger.notice("APNs asks to slow down", metadata: ["app": "\(route.app)"])
            }
        }
    }

    private func entry(
        _ seat: Flight.Seat, _ answer: Result<PushAnswer, PushFailure>?, _ notBuilt: PayloadError?,
        awaitedUntil: UnixTime
    ) -> SettleFlight.Entry {
        let outcome: SettleFlight.Outcome =
            if let notBuilt { .notBuilt(notBuilt) } else if let answer { .answered(answer) } else {
                .awaited(until: awaitedUntil)
            }
        return SettleFlight.Entry(seat: seat, outcome: outcome, dice: Double(dice() >> 11) * 0x1p-53)
    }

    /// Stores the outcomes. Returns `false` if that failed.
    private func settle(_ flight: Flight, _ entries: [SettleFlight.Entry], _ app: AppSettings) async -> Bool {
        await tellHalts()
        if logger.logLevel <= .debug { for entry in entries { tell(entry, of: flight) } }
        for entry in entries {
            guard case .answered(let outcome) = entry.outcome else { continue }
            let (phone, plan) = (entry.seat.phone, entry.seat.plan)
            noteDeath(
                of: phone.token(of: plan), plan.kind == .start ? "push-to-start" : "update", on: phone.device.id,
                outcome)
        }
        for _ in 0..<limits.settleAttempts {
            do throws(StorageError) {
                let result = try await store.commit(
                    SettleFlight(flight: flight, entries: entries, app: app, now: time.wall()))
                if case .success(let reply) = result { report(reply, flight) }
                return true
            } catch {
                logger.error(
                    "outcomes could not be written",
                    metadata: ["activity": "\(flight.desired.activity.id)", "error": "\(error)"])
                try? await clock.sleep(for: limits.storagePause)
            }
        }
        // After the lease, a rescue assumes that the pushes may have arrived.
        logger.error(
            "outcomes of pushes could not be stored and are discarded",
            metadata: ["activity": "\(flight.desired.activity.id)"])
        return false
    }

    /// Stores an event for each halted route, because its circuit exists only in memory.
    func tellHalts() async {
        var untold = circuits.takeHalts()
        for (route, code) in untold {
            do throws(StorageError) {
                _ = try await store.commit(TellKeyHalted(route: route, reason: code, now: time.wall()))
                untold[route] = nil
            } catch {
                logger.error("a halt could not be written", metadata: ["error": "\(error)"])
            }
        }
        circuits.putBack(untold)
    }

    /// Logs one line for a push and its outcome.
    private func tell(_ entry: SettleFlight.Entry, of flight: Flight) {
        let (phone, plan) = (entry.seat.phone, entry.seat.plan)
        var metadata: Logger.Metadata = [
            "app": "\(flight.desired.activity.app)", "activity": "\(flight.desired.activity.id)",
            "device": "\(phone.device.id)", "kind": "\(plan.kind.name)", "revision": "\(plan.revision)",
            "apnsID": "\(flight.record.pushID(of: phone.device.key))", "why": "\(plan.reason.code.rawValue)",
        ]
        switch entry.outcome {
        case .answered(.success(let answer)):
            metadata["status"] = "\(answer.status)"
            metadata["reason"] = answer.reason.map { "\($0.text)" }
        case .answered(.failure(let failure)): metadata["failure"] = "\(failure.code.rawValue)"
        case .awaited: metadata["failure"] = "awaited"
        case .notBuilt: metadata["failure"] = "notBuilt"
        }
        logger.debug("push", metadata: metadata)
    }

    private func report(_ reply: SettleFlight.Reply, _ flight: Flight) {
        let activity = flight.desired.activity
        logger.debug(
            "flight settled",
            metadata: [
                "app": "\(activity.app)", "activity": "\(activity.id)", "revision": "\(flight.record.revision)",
                "accepted": "\(reply.accepted)", "refused": "\(reply.refused)", "awaited": "\(reply.awaited)",
            ])
        guard let fault = reply.fault, fault.kind != .notSent else { return }
        // Trouble of a whole route is logged once, by its circuit.
        logger.info(
            "a lane waits for APNs",
            metadata: [
                "app": "\(activity.app)", "activity": "\(activity.id)", "code": "\(fault.reason.code.rawValue)",
                "reason": "\(fault.reason.text)",
            ])
    }
}
