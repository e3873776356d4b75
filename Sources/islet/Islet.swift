import ArgumentParser

/// The executable. It is the only place that builds concrete things.
@main
struct Islet: AsyncParsableCommand {
    /// Version that metrics, traces and other nodes see. `islet --version` adds the build.
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "islet",
        abstract: "Keeps iOS Live Activities true.",
        discussion: """
            Tell it what should be shown, let the phones say what they hold: it pushes the difference through APNs.
            `islet demo` plays whole systems on simulated phones, without an Apple account.
            """,
        version: BuildDescription().text,
        subcommands: [
            Init.self, Serve.self, Demo.self, Simulate.self, Health.self, Activities.self, Watch.self, Doctor.self,
            Keys.self, Devices.self, Nodes.self, Move.self, Migrate.self,
            Webhooks.self, Channels.self, Send.self, Token.self, Config.self, ContractCommand.self, Policy.self,
            Backup.self, Restore.self, Bench.self,
        ])
}

struct ConfigurationOption: ParsableArguments {
    static let standard = "islet.yaml"

    @Option(name: .long, help: "The configuration file.")
    var config = Self.standard

    func settings() throws -> Settings {
        try ConfigurationLoader.load(config)
    }
}
