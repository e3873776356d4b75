import Foundation
import Testing

@testable import islet

@Suite(.serialized) struct BackupCommandTests {
    @Test func `a backup is made beside a server, and put back when it has stopped`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file("listen: 127.0.0.1:0"), to: "islet.yaml")
        try await RunningServer.with(folder) { _ in
            let made = try await Execution.of(["keys", "create", "--app", "com.acme.pizza"], in: folder)
            #expect(made.code == 0)
            let backup = try await Execution.of(["backup", "copy.db"], in: folder)
            #expect(backup.code == 0 && backup.errors.isEmpty)
            #expect(backup.output.firstMatch(of: /^copy\.db: [0-9.]+ kB, [0-9]+ pages, in [0-9.]+ s\n/) != nil)
            #expect(backup.output.hasSuffix("holds 0 activities and 0 devices\n"))
            let again = try await Execution.of(["backup", "copy.db"], in: folder)
            #expect(again.code == 1 && again.errors.hasPrefix("Error: copy.db already exists: "))
            #expect(try await Execution.of(["backup", "copy.db", "--overwrite"], in: folder).code == 0)
            let served = try await Execution.of(["restore", "copy.db"], in: folder)
            #expect(served.code == 1 && served.errors.contains("is in use: stop the process that uses it"))
        }
        #expect(try await Execution.of(["keys", "create", "--app", "com.acme.pizza"], in: folder).code == 0)
        let restore = try await Execution.of(["restore", "copy.db"], in: folder)
        #expect(restore.code == 0 && restore.errors.isEmpty)
        for words in [
            "islet.db is the backup of 20", "the previous database was kept as ", "0 starts held",
            "0 alerts will not be sent again",
        ] {
            #expect(restore.output.contains(words), "\(words) in \(restore.output)")
        }
        // The key made after the backup is gone. The key made before it exists.
        let keys = try await Execution.of(["keys", "list"], in: folder)
        #expect(keys.output.split(separator: "\n").count == 2)
        let known = try await Execution.of(["restore", "copy.db", "--starts-are-known"], in: folder)
        #expect(known.output.contains("--starts-are-known: phones"))
    }

    @Test func `what is no backup is refused, and usage errors are told from it`() async throws {
        let folder = try Folder()
        try folder.write(Sample.file(), to: "islet.yaml")
        let none = try await Execution.of(["restore", "none.db"], in: folder)
        #expect(none.code == 1 && none.errors == "Error: none.db: there is no such file\n")
        let key = try await Execution.of(["restore", "key.p8"], in: folder)
        #expect(key.code == 1 && key.errors == "Error: key.p8 is not a database of islet\n")
        #expect(try await Execution.of(["backup"], in: folder).code == 64)
        let nothing = try await Execution.of(["backup", "b.db"], in: folder)
        #expect(nothing.code == 1 && nothing.errors.contains("there is no such file"))
    }
}
