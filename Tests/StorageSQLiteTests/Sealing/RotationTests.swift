import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import Synchronization
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests that the keys change while the server runs and no token is lost (F4).
struct RotationTests {
    private struct Killed: Error {}

    /// Latest answered round of each phone.
    private final class Told: Sendable {
        private let state = Mutex((newest: [Int: Int](), isOver: false))

        var newest: [Int: Int] { state.withLock(\.newest) }
        var isOver: Bool { state.withLock(\.isOver) }
        func note(_ phone: Int, _ round: Int) { state.withLock { $0.newest[phone] = round } }
        func end() { state.withLock { $0.isOver = true } }
    }

    /// Creates a database with a server, and the command that rotates its keys beside the server.
    private func withRotation(_ body: @Sendable (String, SQLStore, TokenRotation) async throws -> Void) async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.db").path
            let server = try SQLStore(path: path)
            defer { server.close() }
            let command = try SQLStore(path: path, access: .administration, tokenKeys: .beside(path))
            defer { command.close() }
            try await body(path, server, try TokenRotation(command))
        }
    }

    /// Repeats a call, as phones do, while the other process holds the database for longer than the server waits.
    private static func tell(_ server: SQLStore, _ phone: Int, round: Int) async throws {
        for _ in 0..<20 {
            do throws(any Error) {
                return try await SealedPhones.tell(server, phone, round: round)
            } catch StorageError.failed(let words) where words.contains("locked") {
                continue
            }
        }
        Issue.record("phone \(phone) does not get through")
    }

    /// Rotates and retires keys. Repeats the command, as an operator does, while the server holds the database.
    private static func turn(_ rotation: TokenRotation, _ turn: Int) async throws {
        for _ in 0..<20 {
            do throws(any Error) {
                _ = try await rotation.rotate { _ in await Task.yield() }
                if turn.isMultiple(of: 2) { _ = try await rotation.retire() }
                return
            } catch StorageError.failed(let words) where words.contains("locked") {
                continue
            }
        }
        Issue.record("turn \(turn) does not get through")
    }

    private static func ring(_ path: String) throws -> TokenKeyRing {
        try #require(try TokenKeyFile.ring(at: path + ".keys"))
    }

    @Test func `F4: every row is under the new keys, says what it said, and the earlier keys can go`() async throws {
        try await withRotation { path, server, rotation in
            for round in 0...1 {
                for phone in 1...3 { try await SealedPhones.tell(server, phone, round: round) }
            }
            let copy = path + ".copy"
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            let before = try await AllRows(server).rows
            let old = try Self.ring(path)

            let summary = try await rotation.rotate { _ in }
            #expect(!summary.isResumed && summary.damaged.isEmpty)
            #expect(summary.resealed == ["update_token": 3, "device_token": 6, "token_owner": before.owners.count])
            let ring = try Self.ring(path)
            #expect(
                ring.keys.count == 4 && summary.inUse == ring.inUse)
            #expect(Set(summary.inUse).isDisjoint(with: old.keys.map(\.id)))
            let uses = try await rotation.uses()
            for use in uses { #expect((use.rows > 0) == use.isInUse, "\(use)") }
            #expect(uses.count == 4 && uses.filter(\.isInUse).map(\.id) == summary.inUse)
            let after = try await AllRows(server).rows
            #expect(before.differences(from: after) == [])

            let retirement = try await rotation.retire()
            #expect(retirement.retired.sorted() == old.keys.map(\.id).sorted())
            #expect(retirement.kept.isEmpty)
            #expect(try Self.ring(path).keys.map(\.id) == summary.inUse)
            #expect(try await rotation.retire().retired.isEmpty)
            server.close()
            let reopened = try SQLStore(path: path)
            #expect(before.differences(from: try await AllRows(reopened).rows) == [])
            reopened.close()
            // A backup from before the rotation needs the earlier keys.
            let missing = TokenKeyProblem.missingKeys(old.keys.map(\.id), place: path + ".keys")
            #expect(throws: StorageError.tokenKeys(missing)) {
                _ = try SQLStore(path: copy, tokenKeys: .beside(path))
            }
            let restored = try SQLStore(path: copy, tokenKeys: .given(old, name: "X"))
            #expect(before.differences(from: try await AllRows(restored).rows) == [])
            restored.close()
        }
    }

    @Test func `the server seals under the new key from the next change on, and finds who had a token before`()
        async throws
    {
        try await withRotation { path, server, rotation in
            try await SealedPhones.tell(server, 1)
            try await SealedPhones.tell(server, 1, round: 1)
            let stopped = await #expect(throws: Killed.self) {
                // Killed as soon as the keys are in use, before any other row is sealed again.
                _ = try await rotation.rotate { _ in throw Killed() }
            }
            #expect(stopped != nil)
            // This phone's token was another phone's. The server recognizes it by a hash under the earlier key.
            var body = RegisterDevice.Body(user: Sample.user("u2"))
            body.deviceToken = SealedPhones.Tokens(1, round: 1).device
            _ = try await server.commit(
                RegisterDevice(
                    app: SealedPhones.app, id: Sample.device("d2"), body: body, now: Sample.now, freshKey: 2)
            ).get()
            let signedOut = try await server.query { sql in
                try sql.number("SELECT count(*) FROM device WHERE dk = 1 AND signed_out_at IS NOT NULL")
            }
            #expect(signedOut == 1, "the owner before was not found")
            let counts = try await server.query { sql in
                let primary = try sql.sealing.primary(.sealing)
                let lookUp = try sql.sealing.primary(.lookUp)
                return [
                    try sql.number("SELECT count(*) FROM device_token WHERE dk = 2 AND key = ?", [.int(primary)]) ?? 0,
                    try sql.number("SELECT count(*) FROM token_owner WHERE dk = 2 AND look_up = ?", [.int(lookUp)])
                        ?? 0,
                    try sql.number("SELECT count(*) FROM token_owner WHERE dk = 2") ?? 0,
                ]
            }
            #expect(counts == [1, 1, 1], "under the new keys, and once")
            // A dead value stays dead under either key's hash.
            for _ in 0...1 {
                let dead = RegisterPushToStartToken(
                    app: SealedPhones.app, id: Sample.device("d2"), type: "order",
                    token: SealedPhones.Tokens(1, round: 1).start, now: Sample.now)
                _ = try await server.write { sql in try sql.execute("UPDATE token_owner SET dead_at = 1 WHERE kind = 2")
                }
                await #expect(throws: Refusal.deadToken) { _ = try await server.commit(dead).get() }
                #expect(try await rotation.rotate { _ in }.inUse.count == 2)
            }
            #expect(try await rotation.uses().filter { !$0.isInUse }.allSatisfy { $0.rows == 0 })
        }
    }

    @Test(arguments: 0..<6) func `killed after any page, the next run goes on, and 500 rows are the most at once`(
        pages: Int
    ) async throws {
        try await withRotation { path, server, rotation in
            try await SealedPhones.putMany(server, 1200)
            let before = try await AllRows(server).rows
            let done = Mutex(0)
            await #expect(throws: Killed.self) {
                _ = try await rotation.rotate { _ in
                    let page = done.withLock { done in
                        done += 1
                        return done
                    }
                    if page > pages { throw Killed() }
                }
            }
            let old = try await rotation.uses().filter { !$0.isInUse }.map(\.rows).max()
            // Each row of cards and of owners uses a sealing key: 2,400 rows.
            #expect(old == 2400 - [500, 1000, 1200, 1700, 2200, 2400][pages])
            #expect(before.differences(from: try await AllRows(server).rows) == [])
            #expect(try await rotation.retire().kept.isEmpty == (pages == 5), "a key that rows need is not dropped")
            let keys = try Self.ring(path).keys.map(\.id)
            let summary = try await rotation.rotate { _ in }
            guard pages < 5 else { return }
            #expect(summary.isResumed && summary.resealed.values.reduce(0, +) == old)
            #expect(try Self.ring(path).keys.map(\.id) == keys, "no key was added")
            #expect(before.differences(from: try await AllRows(server).rows) == [])
            #expect(try await rotation.retire().retired.count == 2)
        }
    }

    @Test func `killed between the ring and the database, the new keys are put in use by whoever comes first`()
        async throws
    {
        for comes in ["server", "command"] {
            try await withDirectory { directory in
                let path = directory.appending(path: "islet.db").path
                let server = try SQLStore(path: path)
                try await SealedPhones.tell(server, 1)
                let before = try await AllRows(server).rows
                try TokenKeyFile.replace(path + ".keys", with: try Self.ring(path).renewed())
                let ring = try Self.ring(path)
                server.close()
                let store = try SQLStore(
                    path: path, access: comes == "server" ? .exclusive : .administration, tokenKeys: .beside(path))
                let rotation = try TokenRotation(store)
                let inUse = try await rotation.uses().filter(\.isInUse).map(\.id)
                #expect((inUse == ring.inUse) == (comes == "server"))
                let summary = try await rotation.rotate { _ in }
                #expect(summary.isResumed && summary.inUse == ring.inUse)
                #expect(try Self.ring(path).keys.map(\.id) == ring.keys.map(\.id))
                #expect(before.differences(from: try await AllRows(store).rows) == [])
                store.close()
            }
        }
    }

    @Test(arguments: UInt64(1)...5)
    func `while phones tell tokens and keys come and go, none is lost and all are found`(
        seed: UInt64
    ) async throws {
        try await withRotation { path, server, rotation in
            let phones = 12
            let told = Told()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        var dice = SeededDice(seed: seed &* 100 &+ UInt64(worker))
                        var round = 0
                        // The number of rounds is limited. On a busy machine, the writers would otherwise take all of
                        // it and rows pile up.
                        while !told.isOver, round < 40 {
                            round += 1
                            let phone = 1 + worker + 4 * dice.roll(phones / 4)
                            try await Self.tell(server, phone, round: round)
                            told.note(phone, round)
                        }
                    }
                }
                for turn in 1...6 {
                    try await Self.turn(rotation, turn)
                }
                told.end()
                try await group.waitForAll()
            }
            let rows = try await AllRows(server).rows
            #expect(!told.newest.isEmpty)
            for (phone, round) in told.newest {
                let tokens = SealedPhones.Tokens(phone, round: round)
                #expect(
                    rows.updateTokens[.init(1, DeviceKey(phone))]?.value == TokenValue(tokens.update), "seed \(seed)")
                for token in tokens.values {
                    let owner = rows.owners[.init(Sample.bundleID, token)]
                    #expect(owner?.device == DeviceKey(phone), "seed \(seed)")
                }
            }
            #expect(try await server.statistics().damagedRows == 0)
            // Each value is there once, under whichever key it was hashed.
            let owners = try await server.query { sql in try sql.number("SELECT count(*) FROM token_owner") }
            #expect(owners.map(Int.init) == rows.owners.count, "seed \(seed)")
            _ = try await rotation.rotate { _ in }
            _ = try await rotation.retire()
            #expect(try Self.ring(path).keys.count == 2)
            server.close()
            let reopened = try SQLStore(path: path)
            defer { reopened.close() }
            #expect(rows.differences(from: try await AllRows(reopened).rows) == [])
        }
    }

    @Test func `a row that does not open is left and told of, and keeps its key from going`() async throws {
        try await withRotation { path, server, rotation in
            for phone in [1, 2] { try await SealedPhones.tell(server, phone) }
            let old = try Self.ring(path)
            _ = try await server.write { sql in
                try sql.execute("UPDATE update_token SET value = substr(value, 2) WHERE dk = 1")
            }
            let summary = try await rotation.rotate { _ in }
            #expect(summary.damaged == ["update_token": 1] && summary.resealed["update_token"] == 1)
            let retirement = try await rotation.retire()
            #expect(retirement.retired == [old.inUse[1]])
            #expect(retirement.kept.map(\.id) == [old.inUse[0]] && retirement.kept.map(\.rows) == [1])
            // The phone's next token replaces it.
            try await SealedPhones.tell(server, 1, round: 1)
            #expect(try await rotation.retire().retired == [old.inUse[0]])
        }
    }

    @Test func `a server whose ring cannot be read refuses what it cannot seal, and loses nothing`() async throws {
        try await withRotation { path, server, rotation in
            try await SealedPhones.tell(server, 1)
            let before = try await AllRows(server).rows
            _ = try await rotation.rotate { _ in }
            let ring = try Self.ring(path)
            try FileManager.default.removeItem(atPath: path + ".keys")
            await #expect(throws: StorageError.self) { try await SealedPhones.tell(server, 2) }
            await #expect(throws: StorageError.self) { _ = try await AllRows(server) }
            #expect(try TokenKeyFile.make(ring, at: path + ".keys"))
            try await SealedPhones.tell(server, 2)
            #expect(try await AllRows(server).rows.updateTokens.count == before.updateTokens.count + 1)
        }
    }

    @Test func `one rotation at a time`() async throws {
        try await withRotation { path, server, rotation in
            try await SealedPhones.tell(server, 1)
            _ = try await rotation.rotate { _ in
                await #expect(throws: TokenRotation.Failure.isRunning) {
                    _ = try await rotation.rotate { _ in }
                }
                await #expect(throws: TokenRotation.Failure.isRunning) { _ = try await rotation.retire() }
            }
        }
    }

    @Test func `a ring in a variable gets its keys by hand: the server first, then the command`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.db").path
            let old = TokenKeyRing.fresh()
            let new = try old.renewed()
            let server = try SQLStore(path: path, tokenKeys: .given(old, name: "RING"))
            try await SealedPhones.tell(server, 1)
            let before = try await AllRows(server).rows
            func rotation(_ ring: TokenKeyRing) throws -> (SQLStore, TokenRotation) {
                let store = try SQLStore(
                    path: path, access: .administration, tokenKeys: .given(ring, name: "RING"))
                return (store, try TokenRotation(store))
            }
            let (first, cannotAdd) = try rotation(old)
            await #expect(throws: TokenRotation.Failure.cannotAdd(variable: "RING")) {
                _ = try await cannotAdd.rotate { _ in }
            }
            first.close()
            let (second, tooEarly) = try rotation(new)
            await #expect(throws: TokenRotation.Failure.serverHasAnother(variable: "RING")) {
                _ = try await tooEarly.rotate { _ in }
            }
            second.close()
            server.close()
            let restarted = try SQLStore(path: path, tokenKeys: .given(new, name: "RING"))
            defer { restarted.close() }
            let (third, rightTime) = try rotation(new)
            defer { third.close() }
            #expect(try await rightTime.rotate { _ in }.resealed["update_token"] == 1)
            #expect(Set(try await rightTime.retire().retired) == Set(old.keys.map(\.id)))
            #expect(before.differences(from: try await AllRows(restarted).rows) == [])
        }
    }
}

extension TokenKeyRing {
    /// Ids of the keys in use.
    fileprivate var inUse: [String] { TokenKey.Use.allCases.compactMap { first($0)?.id } }
}
