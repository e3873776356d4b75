import APNSModel
import ArgumentParser
import EmbeddedIslet
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The `islet devices` command, for manual work on a phone.
struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Revokes the credentials of phones.", subcommands: [Revoke.self])

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a phone's own credentials invalid at once.",
            discussion: """
                The person stays signed in, and the phone's cards continue. The phone's next call needs the person's \
                own token, with which it gets another credential. Can run beside a running server.
                """)

        @OptionGroup var file: ConfigurationOption
        @Option(help: "The app's bundle id; may be left out if there is only one.") var app: String?
        @Argument(help: "The device's id, as the app or its backend names it.") var device: String
        @Flag(help: "Prints JSON.") var json = false

        func run() async throws {
            let settings = try file.settings()
            guard let name = app ?? (settings.apps.count == 1 ? settings.apps.first?.bundleID.text : nil) else {
                throw CommandError(
                    "--app is needed: there are \(settings.apps.map(\.bundleID.text).joined(separator: ", "))")
            }
            let bundleID = try settings.app(named: name, in: file.config)
            guard let id = try? DeviceID(device) else { throw CommandError("a device's id has 1 to 256 bytes") }
            // A device is read together with its tokens, which are sealed, so the store needs the token keys.
            let store = try settings.database.open(
                for: .administration, tokenKeys: settings.tokenKeys)
            defer { store.close() }
            switch try await store.commit(RevokeCredentials(app: bundleID, id: id)) {
            case .success(let reply):
                let count = reply.revoked
                Output.line(
                    json
                        ? #"{"revoked":\#(count)}"#
                        : "\(count) \(count == 1 ? "credential" : "credentials") of \(device) revoked")
            case .failure: throw CommandError("\(bundleID) has no device `\(device)`")
            }
        }
    }
}
