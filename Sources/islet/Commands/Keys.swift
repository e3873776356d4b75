import APNSClient
import APNSModel
import ArgumentParser
import EmbeddedIslet
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The `islet keys` command, which manages the API keys of backends.
struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates, lists and revokes API keys; rotates the keys that seal push tokens.",
        discussion: "All subcommands can run beside a running server and take effect with its next call.",
        subcommands: [
            Create.self, List.self, Show.self, Revoke.self, Prune.self, RotateStorage.self, NewRing.self,
        ])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Creates a key and prints it once, on standard output.",
            discussion: """
                Creates the database if there is none. Can run beside a running server.
                With --output the key goes into a file instead. If the file exists, no key is created, so that a \
                set-up can run again.
                """)

        @OptionGroup var file: ConfigurationOption
        @Option(help: "The bundle id of the app that the key belongs to.") var app: String
        @Option(help: "backend (all calls), device (a phone's calls), read, or admin.")
        var scope: String = APIKeyRecord.Scope.backend.rawValue
        @Option(help: "A description of the key for people: 1 to 100 characters.") var name: String?
        @Option(help: "How long the key is valid, such as 90d or 12h; without it, until it is revoked.")
        var expires: String?
        @Option(help: "A new file for the key, which only its owner can read.", completion: .file())
        var output: String?
        @Flag(help: "Prints JSON: the key, and everything stored about it.") var json = false

        func validate() throws {
            guard output == nil || !json else { throw ValidationError("--json prints the key: leave out --output") }
        }

        func run() async throws {
            if let output, FileSteps.exists(output) {
                return Output.line("\(output) is there already: no key was created")
            }
            let settings = try file.settings()
            let bundleID = try settings.app(named: app, in: file.config)
            guard let scope = APIKeyRecord.Scope(rawValue: scope) else {
                throw CommandError("a scope is backend, device, read or admin, not `\(scope)`")
            }
            let lifetime = try expires.map { try Lifetime.seconds($0, "--expires") }
            if let name, !(1...100).contains(name.count) || name.contains(where: \.isNewline) {
                throw CommandError("--name is 1 to 100 characters in one line")
            }
            let store = try settings.database.open(for: .administration)
            defer { store.close() }
            let now = APNSClient.liveTime.wall()
            let (key, record) = try await Keys.make(
                app: bundleID, scope: scope, name: name, lifetime: lifetime, in: store, at: now)
            guard let output else {
                return Output.line(json ? KeyReport.json(record, at: now, key: key.text) : key.text)
            }
            do {
                try Output.secret(key.text + "\n", into: output)
            } catch {
                // Nobody has the key.
                _ = try await store.revokeKey(record.id, at: now)
                throw error
            }
            Output.line("key \(record.id) is in \(output)")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the keys, without their secrets.",
            discussion: """
                The time of a key's last use may lag by up to two minutes. A key that expires within 14 days says so.
                """)

        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only the keys of this app, by bundle id.") var app: String?
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            let settings = try file.settings()
            let bundleID = try app.map { try settings.app(named: $0, in: file.config) }
            let store = try settings.database.open(for: .administration)
            defer { store.close() }
            let keys = try await store.keys().filter { bundleID == nil || $0.app == bundleID }
            let now = APNSClient.liveTime.wall()
            Output.text(json ? KeyReport.json(keys, at: now) + "\n" : KeyReport.table(keys, at: now))
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints everything stored about a key, except its "
                + "secret.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: KeyReport.idHelp) var id: String
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            let store = try file.settings().database.open(for: .administration)
            defer { store.close() }
            guard let key = try await store.key(id) else { throw CommandError("no key has the id `\(id)`") }
            let now = APNSClient.liveTime.wall()
            Output.text(json ? KeyReport.json(key, at: now) + "\n" : KeyReport.lines(key, at: now))
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a key invalid at once.",
            discussion: "A running server rejects the key from its next call on, because it reads the database each "
                + "time.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: KeyReport.idHelp) var id: String
        @Flag(help: "Prints JSON: everything stored about the key.") var json = false

        func run() async throws {
            let store = try file.settings().database.open(for: .administration)
            defer { store.close() }
            let now = APNSClient.liveTime.wall()
            guard try await store.revokeKey(id, at: now), let key = try await store.key(id) else {
                throw CommandError("no valid key has the id `\(id)`")
            }
            if json { Output.line(KeyReport.json(key, at: now)) }
        }
    }

    struct Prune: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Erases keys that were revoked or have expired.",
            discussion: "Until then they stay in the list, so you can look up what an old key was for.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only keys that ended at least this long ago, such as 30d.") var olderThan = "30d"
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            let age = try Lifetime.seconds(olderThan, "--older-than", from: 0)
            let store = try file.settings().database.open(for: .administration)
            defer { store.close() }
            let erased = try await store.eraseKeys(overBefore: APNSClient.liveTime.wall() - age)
            Output.line(json ? #"{"erased":\#(erased)}"# : "\(erased) \(erased == 1 ? "key" : "keys") erased")
        }
    }
}

extension Keys {
    /// Makes a key and stores its record.
    ///
    /// - Parameter lifetime: Time for which the key is valid; `nil`: until it is revoked.
    static func make(
        app: BundleID, scope: APIKeyRecord.Scope, name: String?, lifetime: Duration? = nil, in store: SQLStore,
        at now: UnixTime
    ) async throws(StorageError) -> (key: APIKey, record: APIKeyRecord) {
        var generator = SystemRandomNumberGenerator()
        var (key, record) = APIKey.make(app: app, scope: scope, at: now, using: &generator)
        record.name = name
        record.expiresAt = lifetime.map { now + $0 }
        try await store.insertKey(record)
        return (key, record)
    }
}

/// Time spans on the command line: `90d`, `12h`, `30m`, `45s`.
enum Lifetime {
    static let longestDays = 3650

    /// Returns the time span of a text.
    ///
    /// - Throws: `CommandError` for another form, for less than `shortest` seconds, and for more than ten years.
    static func seconds(_ text: String, _ option: String, from shortest: Int = 1) throws(CommandError) -> Duration {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let digits = text.dropLast()
        guard let unit = text.last.flatMap({ units[$0] }), (1...9).contains(digits.count),
            digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int(digits),
            (shortest...(longestDays * 86_400)).contains(count * unit)
        else { throw CommandError("\(option) is a time such as 90d or 12h, ten years at most, not `\(text)`") }
        return .seconds(count * unit)
    }
}

extension Settings {
    /// Returns the bundle ID of a configured app.
    ///
    /// - Throws: `CommandError` for an app that is not configured.
    func app(named text: String, in config: String) throws(CommandError) -> BundleID {
        guard let bundleID = BundleID(text), apps.contains(where: { $0.bundleID == bundleID }) else {
            let known = apps.map(\.bundleID.text).joined(separator: ", ")
            throw CommandError("`\(text)` is not an app of \(config): it has \(known)")
        }
        return bundleID
    }
}
