import Foundation
import TestSupport
import Testing

@testable import islet

/// Repeated random `kill -9` under load, on one database. `script/crash` does it a hundred times.
@Suite(.serialized) struct RandomKillTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let kills = environment["CRASH_KILLS"].flatMap { Int($0) } ?? 5
    private static let seed = environment["CRASH_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
    private static let orders = 6

    @Test func `killed at random under load, no write is lost or done twice, and every phone ends on the last state`()
        async throws
    {
        var dice = SeededDice(seed: Self.seed)
        try await withStage { stage in
            var orders = (1...Self.orders).map { number in
                KillLoad.Order(id: "order-\(number)", people: ["a-\(number)", "b-\(number)"])
            }
            let load = KillLoad { stage.islet }
            let run = KillRun(stage: stage, load: load, note: Comment("seed \(Self.seed)"))
            try await run.addPhones(orders.flatMap(\.people))
            try await run.beginFaults()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in orders { group.addTask { try await load.drive(order) } }
                for kill in 1...Self.kills {
                    // The kill comes during the first writes after a start, or during the start.
                    let writes = load.total + dice.roll(60)
                    try await Waiting.until("the server takes writes before kill \(kill)", within: .seconds(120)) {
                        load.total >= writes
                    }
                    try await stage.crashServer()
                    // Each kill adds an order whose start is under way at the next kill.
                    let order = KillLoad.Order(id: "late-\(kill)", people: ["late-\(kill)"])
                    try await run.addPhones(order.people)
                    orders.append(order)
                    group.addTask { try await load.drive(order) }
                    _ = try? await stage.act("rotateUpdateToken", on: "a-\(1 + dice.roll(Self.orders))")
                    // At most two writers more than the first ones at a time.
                    if kill > 2 { load.finish("late-\(kill - 2)") }
                }
                load.finish()
                try await group.waitForAll()
            }
            try await run.endFaults()
            #expect(load.total > Self.kills, run.note)
            for order in orders { try await run.check(order) }
            try await run.checkStarts()
            print("\(Self.kills) kills, \(load.total) writes, \(load.unanswered) repeated, seed \(Self.seed)")
        }
    }
}
