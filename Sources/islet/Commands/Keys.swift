import APNSClient
import APNSModel
import ArgumentParser
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQLite

/// `islet keys`: the API keys that backends call with.
struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates, lists and revokes API keys.", subcommands: [Create.self, List.self, Revoke.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a key and prints it, this once, on standard output.",
            discussion: "Makes the database when there is none. May be run while the server runs.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "The bundle id of the app that the key belongs to.") var app: String
        @Option(help: "backend (all calls), device (a phone's calls), read, or admin.")
        var scope: String = APIKeyRecord.Scope.backend.rawValue

        func run() async throws {
            let settings = try file.settings()
            guard let bundleID = BundleID(app), settings.apps.contains(where: { $0.bundleID == bundleID }) else {
                let known = settings.apps.map(\.bundleID.text).joined(separator: ", ")
                throw CommandError("`\(app)` is not an app of \(file.config): it has \(known)")
            }
            guard let scope = APIKeyRecord.Scope(rawValue: scope) else {
                throw CommandError("a scope is backend, device, read or admin, not `\(scope)`")
            }
            let store = try SQLiteStore(path: settings.databasePath, access: .administration)
            defer { store.close() }
            var generator = SystemRandomNumberGenerator()
            let (key, record) = APIKey.make(
                app: bundleID, scope: scope, at: APNSClient.liveTime.wall(), using: &generator)
            try await store.insertKey(record)
            print(key.text)
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the keys: never their secrets.")

        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let store = try SQLiteStore(path: file.settings().databasePath, access: .administration)
            defer { store.close() }
            for key in try await store.keys() {
                let state = key.revokedAt.map { "revoked \($0)" } ?? "valid"
                print("\(key.id)  \(key.scope.rawValue)  \(key.app)  created \(key.createdAt)  \(state)")
            }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a key invalid at once.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The key's id: what stands between its two underscores, and first in `islet keys list`.")
        var id: String

        func run() async throws {
            let store = try SQLiteStore(path: file.settings().databasePath, access: .administration)
            defer { store.close() }
            guard try await store.revokeKey(id, at: APNSClient.liveTime.wall()) else {
                throw CommandError("no valid key has the id `\(id)`")
            }
        }
    }
}
