import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport

@testable import StorageSQLite

/// The engine and the reference store side by side: every command runs in both, and both must say and hold the same.
struct Pair {
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    var model = ModelStore()
    let engine: SQLiteStore
    private(set) var steps = 0

    init(_ engine: SQLiteStore) {
        self.engine = engine
    }

    /// The model's reply, `nil` for a refusal.
    ///
    /// - Throws: `Difference`, which tells the first step that the two did not take in the same way.
    @discardableResult
    mutating func run<C: Command>(
        _ name: String, _ command: C, _ isSame: (C.Reply, C.Reply) -> Bool
    ) async throws -> C.Reply? {
        steps += 1
        let expected = model.run(command)
        let actual = try await engine.commit(command)
        switch (expected, actual) {
        case (.success(let left), .success(let right)) where isSame(left, right): break
        case (.failure(let left), .failure(let right)) where left == right: break
        default: throw Difference(description: "step \(steps), \(name): the model says \(expected), SQLite \(actual)")
        }
        let stored = try await AllRows(engine)
        let differences = model.rows.differences(from: stored.rows)
        guard differences.isEmpty else {
            throw Difference(
                description: "step \(steps), \(name): model | SQLite\n" + differences.sorted().joined(separator: "\n"))
        }
        guard Dictionary(grouping: model.history, by: \.activity) == stored.history else {
            throw Difference(description: "step \(steps), \(name): the timelines differ")
        }
        return try? expected.get()
    }

    /// The same, after a preview that must have told what comes of it.
    mutating func runAsPreviewed<C: Command>(
        _ name: String, _ command: C, of activity: ActivityID, in app: BundleID
    ) async throws where C.Reply: Equatable {
        let all = PhoneStretch(after: -1, limit: 100)
        let preview = try await engine.preview(command, of: activity, in: app, phones: [all])
        let reply = try await run(name, command)
        guard let told = try? preview.get() else {
            guard reply == nil else { throw Difference(description: "step \(steps), \(name): the preview refused") }
            return
        }
        let state = try await engine.activity(app, activity)
        let phones = try await engine.phones(of: told.state.record.number, after: -1, limit: 100)
        guard told.reply == reply, told.state == state, told.phones == [phones] else {
            throw Difference(description: "step \(steps), \(name): previewed \(told) | is \(phones)")
        }
    }

    @discardableResult
    mutating func run<C: Command>(_ name: String, _ command: C) async throws -> C.Reply? where C.Reply: Equatable {
        try await run(name, command, ==)
    }
}

extension Flight {
    func isSame(as other: Flight) -> Bool {
        record == other.record && lane == other.lane && fence == other.fence && desired == other.desired
            && content == other.content
            && seats.count == other.seats.count && zip(seats, other.seats).allSatisfy { $0.isSame(as: $1) }
    }
}

extension Flight.Seat {
    fileprivate func isSame(as other: Flight.Seat) -> Bool {
        phone == other.phone && plan == other.plan && timestamp == other.timestamp && stateBefore == other.stateBefore
    }
}

extension ClaimWork.Reply {
    func isSame(as other: Self) -> Bool {
        rescued == other.rescued && hasMore == other.hasMore && flights.count == other.flights.count
            && zip(flights, other.flights).allSatisfy { $0.isSame(as: $1) }
    }
}
