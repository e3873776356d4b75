import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import Testing

/// Trials of a policy on a recorded day: reads, questions and answers.
@Suite struct WhatIfCallTests {
    private static let path = "/v1/types/Order/what-if"
    private static let words = #"{"policy":{"coalescingWindow":"30s"}}"#

    /// Records an activity with two changes, delivered, and one of another type.
    private static func record(_ fixture: Fixture) async throws {
        try await fixture.registerPhone()
        let first =
            #"{"type":"Order","state":{"step":1},"attributes":{"shop":"Roma"},"audience":{"users":["ada"]},"#
            + #""priority":"high","relevance":5,"staleAfter":"90s"}"#
        #expect(try await fixture.put("/v1/activities/a", first).status == 200)
        #expect(try await fixture.deliver() == [.start])
        fixture.clock.advance(.seconds(5))
        let card = #"{"type":"Order","activity":"a","state":"active","token":"\#(token("card"))"}"#
        #expect(try await fixture.put("/v1/devices/phone-1/instances/card", card).status == 200)
        #expect(try await fixture.deliver() == [.update])
        fixture.clock.advance(.seconds(55))
        let second = #"{"type":"Order","state":{"step":2},"alert":{"title":"Two"}}"#
        #expect(try await fixture.put("/v1/activities/a", second).status == 200)
        fixture.clock.advance(.milliseconds(250))
        #expect(try await fixture.deliver() == [.update])
        #expect(try await fixture.put("/v1/activities/b", #"{"type":"Silent","state":{}}"#).status == 200)
        fixture.clock.advance(.seconds(60))
    }

    @Test func `the day that was recorded is played under both policies, and nothing is changed`() async throws {
        let recorder = TrialRecorder()
        try await withServer(configure: { $0.trials = recorder.trials() }) { fixture in
            try await Self.record(fixture)
            let before = try fixture.contents()
            let reply = try await fixture.call(.post, Self.path, Self.words, key: fixture.keys[.read]?.text)
            #expect(reply.status == 200, "\(reply.text)")
            #expect(try fixture.contents() == before)
            #expect(reply["/activities"] == 1 && reply["/changes"] == 2 && reply["/phones"] == 1)
            #expect(reply["/isPart"] == false && reply["/policy/coalescingWindow"] == "30s")
            #expect(reply["/sent/pushes"] == 3 && reply["/sent/starts"] == 1 && reply["/sent/updates"] == 2)
            #expect(reply["/sent/alerts"] == 2 && reply["/sent/changes"] == ["sent": 2, "together": 0, "unsent": 0])
            #expect(reply["/sent/delay/longest"] == 0.25 && reply["/sent/reasons/fresh-token"] == 1)
            #expect(reply["/sent/held"] == nil && reply["/now/held"] == ["quiet-hours": 1])
            #expect(reply["/now/updates"] == 1 && reply["/then/updates"] == 2)
            #expect(reply["/unknown"]?.array?.isEmpty == false)
            #expect(recorder.changes == [["coalescingWindow": "30s"]])
            let played = recorder.played
            #expect(played.map(\.type.policy.coalescingWindow) == [.seconds(1), .seconds(30)])
            let day = try #require(played.first?.day)
            #expect(day.to == fixture.clock.now && day.from == fixture.clock.now - .seconds(86_400))
            let activity = try #require(day.activities.first)
            #expect(activity.record.id.text == "a" && activity.attributes["shop"] == "Roma")
            guard case .set(let content, reopens: false) = try #require(activity.steps.first).change else {
                Issue.record("the first step sets no state")
                return
            }
            #expect(content.state == ["step": 1] && content.priority == .high && content.relevance == 5)
            #expect(content.staleAfter == .seconds(90) && content.alert == nil && activity.steps.count == 2)
            let found = try #require(activity.cards.values.first)
            #expect(found.reports == .after(.seconds(5)) && found.token == .after(.seconds(5)) && found.acts.isEmpty)
            let phone = try #require(day.phones.values.first)
            #expect(phone.hasStartToken && !phone.hasDeviceToken)
        }
    }

    @Test func `a period leaves out what is before and after, and says what stood when it began`() async throws {
        let recorder = TrialRecorder()
        try await withServer(configure: { $0.trials = recorder.trials() }) { fixture in
            try await Self.record(fixture)
            let from = fixture.clock.now.seconds - 80
            let body = #"{"policy":{},"from":\#(from)}"#
            let reply = try await fixture.call(.post, Self.path, body)
            #expect(reply["/changes"] == 1 && reply["/sent/pushes"] == 1, "\(reply.text)")
            let activity = try #require(recorder.played.first?.day.activities.first)
            #expect(activity.steps.count == 2 && activity.steps[0].at < UnixTime(seconds: from))
            #expect(activity.cards.values.first?.standing == .live(hasToken: true))
            let early = #"{"policy":{},"to":\#(from),"hours":1}"#
            #expect(try await fixture.call(.post, Self.path, early)["/changes"] == 1)
            let none = #"{"policy":{},"to":\#(from - 1000),"hours":1}"#
            #expect(try await fixture.call(.post, Self.path, none)["/activities"] == 0)
        }
    }

    @Test(arguments: [
        (#"{}"#, "/policy"), (#"{"policy":1}"#, "/policy"), (#"{"policy":{},"hours":0}"#, "/hours"),
        (#"{"policy":{},"hours":25}"#, "/hours"), (#"{"policy":{},"hours":1,"from":1799999000}"#, "/hours"),
        (#"{"policy":{},"from":1800000001}"#, "/from"), (#"{"policy":{},"from":1799913599}"#, "/from"),
        (#"{"policy":{},"day":1}"#, "/day"),
    ])
    func `a body that means nothing is refused with its place`(_ body: String, _ place: String) async throws {
        try await withServer { fixture in
            let reply = try await fixture.call(.post, Self.path, body)
            #expect(reply.status == 422 && reply.code == "invalid_body", "\(reply.text)")
            #expect(reply["/pointer"]?.string == place, "\(reply.text)")
        }
    }

    @Test func `a policy that means nothing is refused with every place, and nothing is played`() async throws {
        let recorder = TrialRecorder()
        let faults = [
            PolicyTrials.Fault(pointer: "/quietHours/from", problem: "not a time of day"),
            .init(pointer: "/ceiling", problem: "a number from 1 to 100"),
        ]
        try await withServer(configure: { $0.trials = recorder.trials(faults) }) { fixture in
            let reply = try await fixture.call(.post, Self.path, Self.words)
            #expect(reply.status == 422 && reply.code == "invalid_body")
            #expect(reply["/pointer"] == "/policy/quietHours/from" && reply["/errors/1/pointer"] == "/policy/ceiling")
            #expect(reply["/errors/1/expected"] == "a number from 1 to 100" && reply["/errors"]?.array?.count == 2)
            #expect(recorder.played.isEmpty)
            #expect(try await fixture.call(.post, "/v1/types/Nope/what-if", Self.words).code == "unknown_type")
        }
        try await withServer(configure: { $0.trials = nil }) { fixture in
            let reply = try await fixture.call(.post, Self.path, Self.words)
            #expect(reply.status == 404 && reply.code == "not_found")
        }
    }

    @Test func `one at a time is played, and the place is free again`() async throws {
        let recorder = TrialRecorder()
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let (released, releases) = AsyncStream.makeStream(of: Void.self)
        let trials = recorder.trials(during: {
            guard recorder.played.count == 1 else { return }
            begins.yield()
            for await _ in released { break }
        })
        try await withServer(configure: { $0.trials = trials }) { fixture in
            try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask { try await fixture.call(.post, Self.path, Self.words).status }
                for await _ in begun { break }
                let refused = try await fixture.call(.post, Self.path, Self.words)
                #expect(refused.status == 429 && refused.code == "rate_limited")
                #expect(refused.headers[.retryAfter] == "5")
                releases.finish()
                #expect(try await group.next() == 200)
            }
            #expect(try await fixture.call(.post, Self.path, Self.words).status == 200)
        }
    }

    @Test func `a day that takes too long is given up, and so is one that fails, and the place is free`() async throws {
        struct Fault: Error {}
        let recorder = TrialRecorder()
        var limits = LiveActivityServer.Limits.unhurried
        limits.trialTime = .seconds(7)
        let trials = PolicyTrials(
            policy: { _, _ throws(PolicyTrials.Faults) in TypePolicy() },
            play: { trial in
                _ = try await recorder.trials().play(trial)
                switch recorder.played.count {
                case 1: throw PolicyTrials.Stopped()
                case 2: throw Fault()
                default: throw CancellationError()
                }
            })
        try await withServer(limits: limits, configure: { $0.trials = trials }) { fixture in
            let late = try await fixture.call(.post, Self.path, Self.words)
            #expect(late.status == 422 && late.code == "trial_too_long")
            #expect(late["/detail"]?.string?.contains("7 s") == true)
            #expect(try await fixture.call(.post, Self.path, Self.words).code == "internal_error")
            #expect(try await fixture.call(.post, Self.path, Self.words).code == "overloaded")
            // The time limit holds for both policies together.
            let trial = try #require(recorder.played.first)
            #expect(!trial.isOver())
            fixture.clock.advance(.seconds(7))
            #expect(trial.isOver())
        }
    }

    @Test func `of more than one trial plays the newest are taken, and it is said`() async throws {
        let recorder = TrialRecorder()
        var limits = LiveActivityServer.Limits.unhurried
        limits.trial.changes = 3
        try await withServer(limits: limits, configure: { $0.trials = recorder.trials() }) { fixture in
            for (id, count) in [("old", 1), ("long", 5), ("mid", 2), ("new", 1)] {
                for step in 0..<count {
                    fixture.clock.advance(.seconds(1))
                    let state = #"{"type":"Order","state":{"step":\#(step)}}"#
                    #expect(try await fixture.put("/v1/activities/\(id)", state).status == 200)
                }
            }
            fixture.clock.advance(.seconds(1))
            let reply = try await fixture.call(.post, Self.path, Self.words)
            #expect(reply["/isPart"] == true && reply["/changes"] == 3, "\(reply.text)")
            #expect(recorder.played.first?.day.activities.map(\.record.id.text) == ["new", "mid"])
        }
    }
}
