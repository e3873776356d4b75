import APNSClient
import APNSModel
import EmbeddedIslet
import Foundation
import LiveActivityServer
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// Files of `islet init`. Each is new, and all of them are removed if a later step fails.
struct InitFiles {
    /// Path of the configuration.
    let config: String
    private var made: [String] = []

    /// Maximum size of a `.p8` file. Apple's have less than 300 bytes.
    private static let maximumKeyBytes = 16 * 1024
    /// Mode of the configuration, which holds no secret, and which the server's group may need to read.
    private static let mode: UInt32 = 0o640
    /// Mode of keys. What root makes belongs to the group of its folder, which is the server's.
    private static var secretMode: UInt32 { geteuid() == 0 ? 0o640 : 0o600 }
    private static let folderMode: UInt32 = 0o750

    init(config: String) {
        self.config = config
    }

    /// Result of a set-up that has succeeded.
    struct Outcome {
        var settings: Settings
        /// Text of the key, which is shown once.
        var key: String
        var record: APIKeyRecord
        /// Path of the copy of the key that simulated phones report with.
        var phonesKey: String?
    }

    private var folder: String { FileSteps.folder(of: config) }

    /// Checks that a file is the key that its ids say, as the server does.
    static func check(_ key: InitAnswers.AppleKey) throws(CommandError) {
        guard let handle = FileHandle(forReadingAtPath: key.file),
            let data = try? handle.read(upToCount: maximumKeyBytes) ?? Data()
        else { throw CommandError("\(key.file) cannot be read") }
        do throws(ProviderKeyError) {
            _ = try ProviderKey(keyID: key.keyID, teamID: key.teamID, p8: String(decoding: data, as: UTF8.self))
        } catch {
            throw CommandError("\(key.file): \(error)")
        }
    }

    /// Checks that there is no configuration yet.
    func checkAbsence() throws(CommandError) {
        guard !FileSteps.exists(config) else {
            throw CommandError(
                "\(config) is there already and stays as it is: remove it, or name another with --config")
        }
    }

    /// Makes the configuration, the database and its first API key.
    ///
    /// The configuration is loaded as the server does before it gets its name, and it has its name before a key is
    /// made: a kill in between leaves a configuration for `islet keys create`.
    ///
    /// - Throws: The first error, after everything that was made is removed.
    mutating func make(_ answers: InitAnswers) async throws(CommandError) -> Outcome {
        do {
            try checkAbsence()
            if answers.key == .simulator { try makeSimulatorKey() }
            if answers.needsRing, !FileSteps.exists(path(InitAnswers.ringName)) {
                try write(TokenKeyRing.fresh().text, to: path(InitAnswers.ringName), Self.secretMode)
            }
            let settings = try makeConfiguration(answers.text(in: folder))
            var outcome = try await makeKey(for: answers.bundleID, settings)
            if answers.key == .simulator { outcome.phonesKey = try keepForPhones(outcome.key) }
            return outcome
        } catch {
            for path in made.reversed() { try? FileManager.default.removeItem(atPath: path) }
            throw CommandError("\(error); nothing that init made is left")
        }
    }

    // MARK: - Steps

    private func path(_ name: String) -> String { URL(fileURLWithPath: folder).appendingPathComponent(name).path }

    private mutating func makeSimulatorKey() throws(FileSteps.Failure) {
        let place = path(SimulatorFiles.Standard.directory)
        if !FileSteps.exists(place) {
            try FileSteps.makeFolder(place, mode: Self.folderMode)
            made.append(place)
        }
        let file = "\(place)/\(SimulatorFiles.Standard.keyFile)"
        if !FileSteps.exists(file) { try write(SimulatorFiles.freshKey().p8, to: file, Self.secretMode) }
    }

    private mutating func makeConfiguration(_ text: String) throws -> Settings {
        let draft = "\(config).\(UUID().uuidString).tmp"
        do {
            try write(text, to: draft, Self.mode)
            let settings = try ConfigurationLoader.load(draft)
            try FileSteps.name(draft, as: config)
            made.append(config)
            try FileSteps.sync(folder)
            return settings
        } catch {
            throw CommandError("\(error)".replacing(draft, with: config))
        }
    }

    private mutating func makeKey(for bundleID: String, _ settings: Settings) async throws -> Outcome {
        let app = try settings.app(named: bundleID, in: config)
        var database: [String] = []
        if let path = settings.database.path, !FileSteps.exists(path) {
            database = ["", "-wal", "-shm", ".lock"].map { path + $0 }.filter { !FileSteps.exists($0) }
            made += database
        }
        do {
            let (key, record) = try await Self.insertKey(for: app, settings)
            // After the database is closed, because closing another descriptor of it drops SQLite's locks.
            for path in database { try FileSteps.handOver(path) }
            return Outcome(settings: settings, key: key.text, record: record)
        } catch {
            throw CommandError("no API key could be made: \(error)")
        }
    }

    private static func insertKey(
        for app: BundleID, _ settings: Settings
    ) async throws(StorageError) -> (key: APIKey, record: APIKeyRecord) {
        let store = try settings.database.open(for: .administration)
        defer { store.close() }
        return try await Keys.make(
            app: app, scope: .backend, name: "made by islet init", in: store, at: APNSClient.liveTime.wall())
    }

    /// Keeps the key where `islet simulate` looks for it.
    private mutating func keepForPhones(_ key: String) throws(FileSteps.Failure) -> String {
        let file = path("\(SimulatorFiles.Standard.directory)/\(SimulatorFiles.Standard.backendKeyFile)")
        // One of an earlier server, which no longer knows the key.
        FileSteps.remove(file)
        try write(key, to: file, Self.secretMode)
        return file
    }

    /// Writes a new file, and notes it for removal.
    private mutating func write(_ text: String, to path: String, _ mode: UInt32) throws(FileSteps.Failure) {
        try FileSteps.make(path, text, mode: mode)
        made.append(path)
    }
}
