import APNSModel
import APNSSimulator
import BackendCalls
import FocusTimer
import Foundation
import IsletBasics
import JSONText
import LiveActivityAPI
import Synchronization
import Testing

@testable import islet

/// The focus timer: requirements F1 to F10, against a real server and the rules of real phones.
@Suite(.serialized) struct FocusTimerTests {
    // MARK: - F1, F2: calls and refusals

    @Test func `F1: register, update and end are three calls, and the phone follows each`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, localID) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            try stack.simulator.perform(.rotateUpdateToken(localID: localID), on: phone)
            try await stack.reported(phone)
            let token = try #require(stack.simulator.lockScreen(of: phone).cards[0].token)
            try await functions.register(
                .init(device: phone.text, localID: localID, token: token.hex), of: "1", as: "anna")
            try await FocusCheck.shows(try await functions.update(.pause, "1", as: "anna"), on: phone, stack)
            try await FocusCheck.shows(try await functions.end("1", as: "anna"), on: phone, stack, .ended)
            #expect(stack.simulator.received.allSatisfy { $0.status == 200 && $0.event != "start" })
        }
    }

    @Test func `F1 and Fw2: an end takes the instant at which the card leaves, in whole seconds`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            let instant = UnixTime(seconds: stack.simulator.now.seconds + 45 * 60)
            let dismissAt = Date(timeIntervalSince1970: TimeInterval(instant.seconds))
            let ended = try await functions.end("1", dismissAt: dismissAt, as: "anna")
            let card = try await FocusCheck.shows(ended, on: phone, stack, .ended)
            #expect(card.dismissesAt == instant)
            // Repeating the end changes nothing. An instant that iOS would not keep is refused.
            try await functions.end("1", dismissAt: dismissAt, as: "anna")
            await refused("invalid-argument") {
                try await functions.end("1", dismissAt: dismissAt + 5 * 3600, as: "anna")
            }
            #expect(stack.simulator.received.count { $0.event == "end" } == 1)
        }
    }

    @Test func `F1: refusals are typed: invalid-argument, not-found, permission-denied`() async throws {
        try await FocusCheck.run { stack, functions in
            let card = FocusFunctions.Card(device: "nowhere", localID: "L1", token: String(repeating: "a1", count: 80))
            try await functions.start("1", title: "Deep work", length: 1500, as: "anna")
            await refused("not-found") { try await functions.update(.pause, "2", as: "anna") }
            await refused("not-found") { try await functions.end("2", as: "anna") }
            await refused("not-found") { try await functions.register(card, of: "2", as: "anna") }
            // Islet's own refusals, with the same codes: an unknown device, and a token that is not one.
            await refused("not-found") { try await functions.register(card, of: "1", as: "anna") }
            var odd = card
            odd.token = "abc"
            await refused("invalid-argument") { try await functions.register(odd, of: "1", as: "anna") }
            await refused("invalid-argument") {
                try await functions.start("3", title: "", length: 1500, as: "anna")
            }
            let stranger = FocusFunctions(islet: stack.address, key: "islet_0_0")
            await refused("permission-denied") {
                try await stranger.start("4", title: "Deep work", length: 1500, as: "anna")
            }
            try await functions.end("1", as: "anna")
            await refused("invalid-argument") { try await functions.update(.resume, "1", as: "anna") }
        }
    }

    @Test(arguments: [
        (404, "unknown_activity", "not-found"), (404, "unknown_device", "not-found"), (404, "", "not-found"),
        (422, "invalid_body", "invalid-argument"), (422, "payload_too_large", "invalid-argument"),
        (409, "activity_ended", "invalid-argument"), (401, "key_invalid", "permission-denied"),
        (403, "scope_missing", "permission-denied"), (503, "overloaded", "resource-exhausted"),
        (422, "audience_too_large", "resource-exhausted"), (429, "", "resource-exhausted"),
        (503, "storage_unavailable", "unavailable"), (502, "", "unavailable"),
    ])
    func `F1: each of Islet's refusals has its type, resource-exhausted too`(
        status: Int, problem: String, code: String
    ) {
        let answer = IsletAPI.Answer(status: status, body: ["code": .string(problem), "detail": "why"])
        #expect(FocusError(answer)?.code == code)
        #expect(FocusError(IsletAPI.Answer(status: 200, body: [:])) == nil)
    }

    @Test func `F2: only the person who owns a timer may update or end it, and nothing is sent for another`()
        async throws
    {
        try await FocusCheck.run { stack, functions in
            let (phone, localID) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            let count = stack.simulator.receivedCount
            await refused("permission-denied") { try await functions.update(.pause, "1", as: "ben") }
            await refused("permission-denied") { try await functions.end("1", as: "ben") }
            await refused("permission-denied") {
                try await functions.start("1", title: "Mine now", length: 60, as: "ben")
            }
            await refused("permission-denied") {
                let token = String(repeating: "b2", count: 80)
                try await functions.register(.init(device: "anna", localID: localID, token: token), of: "1", as: "ben")
            }
            #expect(try await stack.view("focus-1").revision == 1)
            #expect(stack.simulator.receivedCount == count)
            #expect(try stack.simulator.lockScreen(of: phone).cards.count == 1)
        }
    }

    // MARK: - F3, F5: merging and pauses

    @Test func `F3: updates within one second are merged into one push with the last of them`() async throws {
        try await FocusCheck.run { stack, functions in
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            try await FocusCheck.shows(try await functions.update(.pause, "1", as: "anna"), on: phone, stack)
            let before = stack.simulator.receivedCount
            let began = ContinuousClock.now
            for _ in 1...5 {
                try await functions.update(.resume, "1", as: "anna")
                try await functions.update(.pause, "1", as: "anna")
            }
            let last = try await functions.update(.resume, "1", as: "anna")
            try await FocusCheck.shows(last, on: phone, stack)
            let windows = Int((ContinuousClock.now - began) / .seconds(1)) + 2
            let timeline = try await stack.timeline("focus-1").map { "\($0.at) \($0.kind) r\($0.revision) \($0.text)" }
            let pushes = stack.simulator.receivedCount - before
            #expect(pushes <= windows, "11 updates:\n\(timeline.joined(separator: "\n"))")
            let stamps = stack.simulator.received.compactMap(\.timestamp)
            #expect(stamps == Array(Set(stamps)).sorted(), "never two within one second of the phone's order")
            stack.sentNothingAhead(after: before)
        }
    }

    @Test func `F5: elapsed time never counts a pause, and several pauses add up`() async throws {
        try await FocusCheck.run { stack, _ in
            let clock = FocusClock()
            let functions = FocusFunctions(islet: stack.address, key: stack.key) { clock.now }
            let (phone, _) = try await FocusCheck.localTimer(stack, functions)
            try await stack.reported(phone)
            // 10 s of focus, 100 s of pause, 20 s, 1,000 s, 30 s.
            for (focus, pause) in [(10.0, 100.0), (20, 1000)] {
                clock.advance(focus)
                let paused = try await functions.update(.pause, "1", as: "anna")
                try await FocusCheck.shows(paused, on: phone, stack)
                clock.advance(pause)
                #expect(paused.state.elapsed(at: clock.now) == paused.state.elapsed(at: clock.now - pause))
                let resumed = try await functions.update(.resume, "1", as: "anna")
                try await FocusCheck.shows(resumed, on: phone, stack)
            }
            clock.advance(30)
            let ended = try await functions.end("1", as: "anna")
            let card = try await FocusCheck.shows(ended, on: phone, stack, .ended)
            let state = try JSONDecoder().decode(
                FocusTimerAttributes.ContentState.self, from: Data(JSONValue.object(card.contentState).bytes))
            #expect(abs(state.elapsed(at: clock.now) - 60) < 0.001)
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8])
    func `F5: whatever is pressed when, elapsed time is what ran between the pauses`(seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        let begin = Date(timeIntervalSinceReferenceDate: 800_000_000)
        var (now, focus, isPaused, error) = (begin, 0.0, false, 0.0)
        var session = FocusSession(id: "1", owner: "anna", title: "t", length: 60, startedAt: begin)
        for _ in 1...200 {
            let passed = Double(dice.next() % 1000) / 8
            now += passed
            if !isPaused { focus += passed }
            // A second press on the same button has no effect.
            if dice.next() % 2 == 0 {
                session.pause(at: now)
                isPaused = true
            } else {
                session.resume(at: now)
                isPaused = false
            }
            error = max(error, abs(session.state.elapsed(at: now) - focus))
        }
        #expect(error < 1e-4, "seed \(seed)")
        session.end(at: now + 5)
        #expect(abs(session.state.elapsed(at: now + 100) - focus - (isPaused ? 0 : 5)) < 1e-4, "seed \(seed)")
        let over = session
        session.pause(at: now + 200)
        session.resume(at: now + 300)
        #expect(session == over)
    }

    // MARK: - Parts

    private func refused(
        _ code: String, _ call: () async throws -> some Any, _ place: SourceLocation = #_sourceLocation
    ) async {
        do {
            _ = try await call()
            Issue.record("not refused", sourceLocation: place)
        } catch {
            #expect((error as? FocusError)?.code == code, "\(error)", sourceLocation: place)
        }
    }
}

/// A clock that a test moves.
private final class FocusClock: Sendable {
    private let time = Mutex(Date())

    var now: Date { time.withLock(\.self) }

    func advance(_ seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

enum FocusCheck {
    static func run(_ body: @escaping @Sendable (Stack, FocusFunctions) async throws -> Void) async throws {
        try await Stack.run(try Stack.Options(FocusTimerPlay.app)) { stack in
            try await body(stack, FocusFunctions(islet: stack.address, key: stack.key))
        }
    }

    /// Makes Anna's timer, whose card her app started before the functions knew of it.
    static func localTimer(_ stack: Stack, _ functions: FocusFunctions) async throws -> (PhoneID, localID: String) {
        let phone = try await stack.phone("anna") { $0.appState = .foreground }
        let attributes = FocusTimerAttributes(sessionID: "focus-1", title: "Deep work", length: 1500)
        let began = FocusTimerAttributes.ContentState(startedAt: Date())
        let local = try await stack.startLocally(
            .init(
                attributesType: "FocusTimerAttributes",
                attributes: try JSONValue(encoding: attributes).object ?? [:],
                contentState: try JSONValue(encoding: began).object ?? [:], activity: "focus-1"), on: phone)
        let session = try await functions.start("1", title: "Deep work", length: 1500, as: "anna")
        try await shows(session, on: phone, stack)
        try await stack.device("anna", of: "focus-1", "has the first state") { $0.revision == 1 }
        return (phone, local)
    }

    /// Waits until a phone's only card shows the timer's current state.
    @discardableResult
    static func shows(
        _ session: FocusSession, on phone: PhoneID, _ stack: Stack, _ state: Card.State = .active
    ) async throws -> Card {
        let wanted = try JSONValue(encoding: session.state).object
        return try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { screen in
            screen.cards.count == 1 && screen.cards[0].state == state && screen.cards[0].contentState == wanted
        }.cards[0]
    }
}
