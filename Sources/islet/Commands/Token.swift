import APNSClient
import APNSModel
import ArgumentParser
import JSONText

/// Options that choose one APNs key of the configuration.
struct KeyChoice: ParsableArguments {
    @Option(help: "The app's bundle id; needed when there are several.") var app: String?
    @Option(help: "sandbox or production; needed when both have a key.") var environment: String?

    func key(of settings: Settings) throws -> Settings.KeySettings {
        if let environment, APNSEnvironment(rawValue: environment) == nil {
            throw CommandError("an environment is sandbox or production, not `\(environment)`")
        }
        let fitting = settings.keys.filter { key in
            (app == nil || key.app.text == app) && (environment == nil || key.environment.rawValue == environment)
        }
        guard let first = fitting.first else { throw CommandError("no key is configured for that") }
        guard fitting.count == 1 else {
            let choices = fitting.map { "--app \($0.app) --environment \($0.environment.rawValue)" }
            throw CommandError("several keys match: choose one with\n  " + choices.joined(separator: "\n  "))
        }
        return first
    }
}

/// The `islet token` command, which prints a provider token for APNs.
struct Token: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a provider token (a JWT) for APNs.",
        discussion: "Valid for an hour. For `curl --http2 -H \"authorization: bearer $(islet token)\" …`.")

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var choice: KeyChoice
    @Flag(help: "Prints JSON: the token, whose it is, and when it was issued.") var json = false

    func run() async throws {
        let chosen = try choice.key(of: file.settings())
        let now = APNSClient.liveTime.wall()
        let text = try chosen.key.makeToken(issuedAt: now).text
        guard json else { return Output.line(text) }
        Output.json([
            "token": .string(text), "app": .string(chosen.app.text),
            "environment": .string(chosen.environment.rawValue),
            "issuedAt": .string(UnixTime(seconds: now.seconds).description),
        ])
    }
}
