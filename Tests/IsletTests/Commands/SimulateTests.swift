import Foundation
import JSONText
import Testing

@testable import islet

struct SimulateTests {
    @Test func `a simulator for other machines is reached by its name, and its control API asks for the token`()
        async throws
    {
        let folder = try Folder()
        let simulator = try ChildProcess(
            "simulator", executable: Execution.executable,
            arguments: [
                "simulate", "--host", "0.0.0.0", "--port", "0", "--control-port", "0", "--name", "apns.internal",
                "--control-token-environment", "TOKEN_OF_TEST", "--directory", folder.path("simulator"),
            ], environment: ["TOKEN_OF_TEST": "a-token"],
            log: folder.url.appendingPathComponent("simulator.log"))
        do {
            let line = try await simulator.firstLine(within: .seconds(30))
            let addresses = try JSONValue(parsing: line).object ?? [:]
            let control = try #require(addresses["control"]?.string)
            #expect(control.hasPrefix("http://apns.internal:"))
            let yaml = try String(contentsOfFile: folder.path("simulator/islet.yaml"), encoding: .utf8)
            for name in ["apns", "channels"] {
                let url = try #require(addresses[name]?.string)
                #expect(url.hasPrefix("https://apns.internal:") && yaml.contains("ndpoint: \(url)\n"), "\(name)")
            }
            let port = try #require(URLComponents(string: control)?.port)
            let here = "http://127.0.0.1:\(port)"
            try await JSONCaller(here, key: { "a-token" }).call(.GET, "/v1/simulator")
            let refusal = await #expect(throws: JSONCaller.Refusal.self) {
                try await JSONCaller(here).call(.GET, "/v1/simulator")
            }
            #expect(refusal?.status == 401)
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    @Test(arguments: [[:], ["TOKEN_OF_TEST": ""]] as [[String: String]])
    func `a variable without a token is refused, and nothing is written`(_ environment: [String: String]) async throws {
        let folder = try Folder()
        let run = try await Execution.of(
            ["simulate", "--control-token-environment", "TOKEN_OF_TEST", "--port", "0", "--control-port", "0"],
            in: folder, environment: environment)
        #expect(run.code == 1 && run.output.isEmpty)
        #expect(run.refusals == ["--control-token-environment: the environment variable TOKEN_OF_TEST is not set"])
        #expect(!FileManager.default.fileExists(atPath: folder.path("simulator")))
    }
}
