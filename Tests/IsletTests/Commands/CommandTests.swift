import Crypto
import Foundation
import JSONText
import Testing

@testable import islet

@Suite(.serialized) struct CommandTests {
    private func folder(_ yaml: String = Sample.file("listen: 127.0.0.1:0")) throws -> Folder {
        let folder = try Folder()
        try folder.write(yaml, to: "islet.yaml")
        return folder
    }

    // MARK: - token

    @Test func `a token is a JWT that the key's public half verifies`() async throws {
        let folder = try folder()
        let run = try await Execution.of(["token"], in: folder)
        #expect(run.code == 0 && run.errors.isEmpty)
        let parts = run.output.dropLast().split(separator: ".")
        try #require(parts.count == 3)
        func bytes(_ part: Substring) throws -> Data {
            let text = part.replacing("-", with: "+").replacing("_", with: "/")
            return try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
        }
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes(parts[2]))
        #expect(folder.signingKey.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        let header = try JSONValue(parsing: String(decoding: bytes(parts[0]), as: UTF8.self)).object
        #expect(header?["alg"] == "ES256" && header?["kid"] == "ABC123DEFG")
        let claims = try JSONValue(parsing: String(decoding: bytes(parts[1]), as: UTF8.self)).object
        let issued = try #require(claims?["iat"]?.int)
        #expect(claims?["iss"] == "XYZ987MNOP" && abs(Date().timeIntervalSince1970 - Double(issued)) < 120)
    }

    @Test func `where several keys fit, or none, it says which there are`() async throws {
        let both = "{sandbox: \(Sample.key), production: \(Sample.key)}"
        let folder = try folder(Sample.file(apps: "[\(Sample.app(apns: both))]"))
        let several = try await Execution.of(["token"], in: folder)
        #expect(several.code == 1 && several.output.isEmpty)
        #expect(several.errors.contains("--app com.acme.pizza --environment sandbox\n"))
        #expect(several.errors.contains("--app com.acme.pizza --environment production\n"))
        #expect(try await Execution.of(["token", "--environment", "sandbox"], in: folder).code == 0)
        let none = try await Execution.of(["token", "--app", "com.acme.cake"], in: folder)
        #expect(none.code == 1 && none.errors == "Error: no key is configured for that\n")
        let odd = try await Execution.of(["token", "--environment", "dev"], in: folder)
        #expect(odd.code == 1 && odd.errors == "Error: an environment is sandbox or production, not `dev`\n")
    }

    // MARK: - send

    private static let token = String(repeating: "80a1", count: 16)

    @Test(arguments: [
        (["update"], "Missing expected argument '--token <token>'"),
        (["updat", "--token", token], "The value 'updat' is invalid for '<kind>'"),
        (["update", "--token", token], "--state is needed: the content state as a JSON object"),
        (["update", "--token", token, "--state", "{"], "--state: line 1, column 2: a key is missing"),
        (["update", "--token", token, "--state", "[1]"], "--state: line 1, column 1: an object is expected"),
        (["update", "--token", "zz", "--state", "{}"], "32 to 512 hexadecimal characters; this one has 2"),
        (["update", "--token", token, "--state", "{}", "--priority", "7"], "a priority is 5 or 10"),
        (["update", "--token", token, "--state", "{}", "--keep=-1"], "--keep is 0 to 2592000 seconds"),
        (["start", "--token", token, "--state", "{}"], "a start needs --type"),
        (["start", "--token", token, "--state", "{}", "--type", "T"], "a start needs --title"),
        (["start", "--token", token, "--type", "T", "--title", "t"], "--state is needed"),
        (
            ["start", "--token", token, "--type", "T", "--title", "t", "--state", "{}", "--attributes", "1"],
            "--attributes: line 1, column 1: an object is expected"
        ),
        (["alert", "--token", token], "an alert needs --title"),
        (["end", "--token", token, "--app", "com.acme.cake"], "no key is configured for that"),
        (["update", "--token", token, "--config", "none.yaml"], "none.yaml: the file cannot be read"),
    ])
    func `a push that cannot be made is not sent, and it says what is missing`(
        _ arguments: [String], _ words: String
    )
        async throws
    {
        let run = try await Execution.of(["send"] + arguments, in: try folder())
        #expect(run.code != 0)
        // Sent or not, the outcome of an attempt would be here.
        #expect(run.output.isEmpty)
        #expect(run.refusals.count == 1 && run.refusals.first?.contains(words) == true, "it says: \(run.errors)")
    }

    // MARK: - Help

    private static let names = Systems.names.joined(separator: ", ")

    @Test(arguments: [
        (
            ["init"],
            [
                "--config", "--bundle-id", "--key-file", "--key-id", "--team-id", "--environment", "--simulator",
                "--attributes-type", "--type", "--start-alert", "--start-alert-body", "--app-only", "--listen",
                "--storage", "--json",
            ]
        ),
        (["health"], ["--config", "--server", "--live", "--timeout", "--json"]),
        (["serve"], ["--config"]), (["demo"], ["--system", "--fast", "--keep"]),
        (
            ["simulate"],
            [
                "--port", "--channel-port", "--control-port", "--host", "--name", "--control-token-environment",
                "--directory", "--backend", "--backend-key-file", "--system", "--app", "--start-grace", "--seed",
                "--token-rate",
            ]
        ),
        (["keys"], ["create", "list", "show", "revoke", "prune"]),
        (["keys", "create"], ["--config", "--app", "--scope", "--name", "--expires", "--output", "--json"]),
        (["keys", "new-ring"], ["--config", "--output", "--renewed"]),
        (["keys", "list"], ["--config", "--app", "--json"]), (["keys", "revoke"], ["--config", "<id>", "--json"]),
        (["keys", "show"], ["--config", "<id>", "--json"]),
        (["keys", "prune"], ["--config", "--older-than", "--json"]),
        (["channels"], ["list", "delete"]),
        (["channels", "list"], ["--config", "--app", "--limit", "--after", "--json"]),
        (["channels", "delete"], ["--config", "--app", "--environment", "<ids>", "--unknown", "--yes", "--json"]),
        (["devices"], ["revoke"]), (["devices", "revoke"], ["--config", "--app", "<device>", "--json"]),
        (
            ["send"],
            [
                "--config", "--app", "--environment", "<kind>", "--token", "--state", "--attributes", "--type",
                "--title", "--body", "--sound", "--priority", "--dismiss", "--keep",
            ]
        ),
        (["token"], ["--config", "--app", "--environment"]),
        (["config"], ["check", "reference"]), (["config", "check"], ["--config"]),
        (["contract"], ["check"]), (["contract", "check"], ["<contract>", "--state", "--attributes"]),
        (["doctor"], ["--config", "--app", "--environment", "--offline", "--json"]),
        (
            ["bench", "fanout"],
            [
                "--activities", "--phones", "--million", "--channel", "--storage", "--streams", "--json",
                "--directory", "--limit", "--keep",
            ]
        ),
        (["backup"], ["--config", "<target>", "--overwrite"]),
        (["restore"], ["--config", "<source>", "--starts-are-known"]),
        (
            [],
            [
                "init", "serve", "demo", "simulate", "health", "keys", "channels", "send", "token", "config",
                "contract", "doctor",
                "backup", "restore", "--version",
            ]
        ),
    ])
    func `help names everything a command takes`(_ command: [String], _ options: [String]) async throws {
        let run = try await Execution.of(command + ["--help"], in: try folder())
        #expect(run.code == 0 && run.errors.isEmpty)
        for option in options { #expect(run.output.contains("  \(option)"), "\(option)") }
    }

    @Test(arguments: [
        (["demo", "--system", "weather"], "there is no system `weather` to play: there are \(names)"),
        (["simulate", "--system", "weather"], "there is no system `weather`: there are \(names)"),
        (["simulate", "--port", "65536"], "--port is 0 to 65535, not 65536"),
        (["simulate", "--port", "5", "--control-port", "5"], "--port, --channel-port and --control-port differ"),
        (["simulate", "--channel-port", "2197"], "--port, --channel-port and --control-port differ"),
        (
            ["simulate", "--host", "0.0.0.0", "--name", "apns"],
            "with --host 0.0.0.0 other machines reach the simulator: give --name and --control-token-environment"
        ),
        (["simulate", "--name", "10.0.0.5"], "--name is a host name such as simulator.internal, not `10.0.0.5`"),
        (["simulate", "--backend", "localhost:8080"], "--backend is http://host:port, not `localhost:8080`"),
        (["simulate", "--app", "no id"], "`no id` is not a bundle id such as com.example.pizza"),
        (["simulate", "--token-rate", "0"], "--token-rate is at least 1"),
        (["keys", "create", "--app", "a", "--output", "f", "--json"], "--json prints the key: leave out --output"),
        (
            ["keys", "new-ring", "--output", "f", "--renewed"],
            "--renewed is for a ring in an environment variable: leave out --output"
        ),
        (["channels", "--limit", "1001"], "--limit is from 1 to 1000"),
        (["channels", "--after", "7"], "--after is a value that an earlier list printed, not `7`"),
        (["channels", "delete"], "name channels by their ids, or by --unknown"),
        (["channels", "delete", "--unknown", "AAAABBBB"], "name channels by their ids, or by --unknown"),
        (["channels", "delete", "AAAABBBB", "--yes"], "--yes goes with --unknown"),
        (["simulate", "--start-grace", "soon"], "--start-grace is a duration such as 15s, not `soon`"),
        (
            ["serve", "--port", "1"],
            "--port and --system need --dev; without it, the configuration's `listen` applies"
        ),
    ])
    func `an argument that means nothing is refused, and nothing is written`(
        _ arguments: [String], _ words: String
    )
        async throws
    {
        let folder = try folder()
        let run = try await Execution.of(arguments, in: folder)
        #expect(run.code == 64 && run.output.isEmpty)
        #expect(run.refusals == [words])
        #expect(run.errors.contains("Usage: islet \(arguments[0])"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("simulator")))
    }
}
