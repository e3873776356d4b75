import ArgumentParser
import Foundation
import JSONText

/// Which running server is asked, and with what key.
struct ServerOption: ParsableArguments {
    @Option(help: "The running server's address.") var server = "http://127.0.0.1:8080"
    @Option(help: "An API key of the scope read; better the variable ISLET_KEY, which `ps` does not show.")
    var key: String?

    /// - Throws: ``CommandError`` where no key was given.
    func caller() throws -> JSONCaller {
        guard let key = key ?? ProcessInfo.processInfo.environment["ISLET_KEY"], !key.isEmpty else {
            throw CommandError("an API key is needed: --key, or the variable ISLET_KEY (`islet keys create`)")
        }
        return JSONCaller(server, key: { key })
    }

    /// What the server answers.
    ///
    /// - Throws: ``CommandError`` that says what it refused, or that nobody answered.
    func get(_ path: String, by caller: JSONCaller) async throws -> JSONValue {
        do {
            return try await caller.call(.GET, path)
        } catch let refusal as JSONCaller.Refusal {
            throw CommandError("\(refusal)")
        } catch let error as JSONSyntaxError {
            throw CommandError("\(server) does not answer as Islet does: \(error)")
        } catch {
            throw CommandError("\(server) does not answer: \(error)")
        }
    }
}
