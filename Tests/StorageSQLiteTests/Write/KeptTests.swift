import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct KeptTests {
    /// A kill leaves the files as they are at that moment. Every answered call must be in a copy of them, although
    /// the store that wrote it was never closed.
    @Test(arguments: UInt64(1)...20)
    func `Invariant 4: what was answered is in the files as a kill leaves them, at any of a thousand moments`(
        seed: UInt64
    ) async throws {
        try await withDirectory { directory in
            var dice = SeededDice(seed: seed)
            let path = directory.appending(path: "islet.db").path
            let store = try SQLStore(path: path)
            defer { store.close() }
            var newest: [String: Revision] = [:]
            for moment in 0..<50 {
                for _ in 0..<1 + dice.roll(3) {
                    let name = dice.pick(["a", "b", "c"])
                    var body = SetDesiredState.Body(state: Sample.state(Int(dice.next() % 1000)))
                    body.users = [Sample.user("ann")]
                    let reply = try await store.commit(
                        SetDesiredState(
                            app: Sample.bundleID, id: Sample.activityID(name), type: Sample.type(), body: body,
                            now: Sample.now + .seconds(moment))
                    ).get()
                    newest[name] = reply.revision
                }
                let left = directory.appending(path: "left-\(moment).db").path
                for suffix in ["", "-wal", ".keys"] where FileManager.default.fileExists(atPath: path + suffix) {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: left + suffix)
                }
                let found = try SQLStore(path: left)
                for (name, revision) in newest {
                    let state = try await found.activity(Sample.bundleID, Sample.activityID(name))
                    #expect(state?.record.revision == revision, "seed \(seed), moment \(moment), \(name)")
                }
                found.close()
            }
        }
    }
}
