import ArgumentParser
import BackendCalls
import EmojiRangers

/// The adventures' server in a terminal: `guild-hall play`.
@main
struct GuildHall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guild-hall",
        abstract: "Sends heroes into an adventure; the phones of all of them show it.",
        discussion: """
            Begins an adventure, has one hero find something and another knocked down, lets the second leave, and \
            ends it. The API key is read from the environment variable ISLET_KEY.
            """)

    @Option(help: "Where the Islet server is.") var islet = "http://127.0.0.1:8080"
    @Option(help: "Who plays; may be given more than once.") var player: [String] = ["alice", "bob"]
    @Option(help: "Seconds between two steps.") var pause = 3
    @Argument(help: "The adventure's id.") var adventure = "1"

    private static let heroes = [("Power Panda", "🐼"), ("Eggsquisite", "🥚"), ("Spouty", "🐳")]

    func validate() throws {
        guard (1...Self.heroes.count).contains(player.count) else {
            throw ValidationError("an adventure takes 1 to \(Self.heroes.count) players")
        }
        guard (0...3600).contains(pause) else { throw ValidationError("--pause is 0 to 3600 seconds") }
    }

    func run() async throws {
        guard let key = BackendKey.fromEnvironment else {
            throw ValidationError("set ISLET_KEY to an API key: `islet keys create --app … --scope backend`")
        }
        let guild = Guild(islet: islet, key: key)
        let party = zip(player, Self.heroes).map { Hero(player: $0, name: $1.0, avatar: $1.1) }
        guard let first = party.first, let last = party.last else { return }
        var adventure = Adventure(id: adventure, place: "the mushroom cave", party: party)
        try await say("it begins", guild.begin(adventure))
        try await say("\(first.name) finds a sword", guild.report(.found("a sword", by: first), in: &adventure))
        try await say("\(last.name) is knocked down", guild.report(.knockedDown(last), in: &adventure))
        if party.count > 1 { try await say("\(last.name) leaves", guild.leave(last, &adventure)) }
        try await say("it ends", guild.end(&adventure, saying: "The boss is defeated!", .after("30m")))
    }

    private func say(_ what: String, _ answer: IsletAPI.Answer) async throws {
        print("\(what): \(answer.summary)")
        guard answer.isTaken else { throw ExitCode.failure }
        try await Task.sleep(for: .seconds(pause))
    }
}
