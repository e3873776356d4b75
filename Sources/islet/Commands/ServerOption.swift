import ArgumentParser
import Foundation
import JSONText

/// Options for the address and the API key of a running server.
struct ServerOption: ParsableArguments {
    @Option(help: "The running server's address.") var server = "http://127.0.0.1:8080"
    @Option(help: "An API key of the scope read; better the variable ISLET_KEY, which `ps` does not show.")
    var key: String?

    /// Returns a caller with the API key from the option or the variable `ISLET_KEY`.
    ///
    /// - Throws: ``CommandError`` if no key was given.
    func caller() throws -> JSONCaller {
        guard let key = key ?? ProcessInfo.processInfo.environment["ISLET_KEY"], !key.isEmpty else {
            throw CommandError("an API key is needed: --key, or the variable ISLET_KEY (`islet keys create`)")
        }
        return JSONCaller(server, key: { key })
    }

    /// Returns the server's answer to a GET request.
    ///
    /// - Throws: ``CommandError`` with the server's refusal, or with the reason why no answer came.
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
