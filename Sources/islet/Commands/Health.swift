import ArgumentParser
import JSONText
import OutboundHTTP

/// The `islet health` command, which asks a running server whether it is ready.
struct Health: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Asks a running server whether it is ready.",
        discussion: """
            For probes: HEALTHCHECK of a container, exec probes of Kubernetes, systemd, scripts. It prints one line, \
            and needs no API key. Exits with 0 if the server is ready, with 1 if it is not or does not answer, and \
            with 64 for a wrong command line.
            A server is ready while its database answers. Trouble with APNs leaves it ready, and the line says so.
            The address is the configuration's `listen`, or the loopback address if `listen` is every address of the \
            machine. Nothing else of the file is read. Give --server if a supervisor passes the listening socket, or \
            for the address of `metrics.listen`. Over TLS the certificate of a server on this machine is not checked, \
            because it names the host that callers use.
            """)

    @OptionGroup var file: ConfigurationOption
    @Option(help: "The server's URL, in place of the address in the configuration.") var server: String?
    @Flag(help: "Asks whether the process answers, and not whether its database does.") var live = false
    @Option(help: "Seconds to wait for the answer, from 0.1 to 60.") var timeout = 3.0
    @Flag(help: "Prints JSON.") var json = false

    func validate() throws {
        guard 0.1...60 ~= timeout else { throw ValidationError("--timeout is from 0.1 to 60 seconds") }
        if let server, ServerAddress(server) == nil {
            throw ValidationError("--server is a URL such as http://127.0.0.1:8080, not `\(server)`")
        }
    }

    func run() async throws {
        let address = try server.flatMap { ServerAddress($0) } ?? ConfigurationLoader.address(file.config)
        let probe = HealthProbe(address: address, isLiveOnly: live, timeout: .seconds(timeout))
        let result = await probe.result()
        if json {
            Output.json(probe.json(result))
            if case .failure = result { throw ExitCode.failure }
        } else {
            Output.line(try probe.line(result))
        }
    }
}

/// A question to a running server about its health.
struct HealthProbe {
    let address: ServerAddress
    /// `true` to ask only whether the process answers.
    let isLiveOnly: Bool
    /// Maximum time for the answer.
    let timeout: Duration

    private var word: String { isLiveOnly ? "alive" : "ready" }

    /// Asks the server.
    ///
    /// - Returns: The answer of a server that is well, or the reason why it is not.
    func result() async -> Result<JSONObject, CommandError> {
        let client = OutboundClient(connectTimeout: timeout, verifiesCertificates: !address.isOnThisMachine)
        defer { client.stop() }
        let caller = JSONCaller(address.url, by: client, within: timeout)
        let stranger = CommandError("another program than Islet answers there")
        do {
            let answer = try await caller.call(.GET, isLiveOnly ? "/healthz" : "/readyz").object ?? [:]
            return answer["status"]?.string == (isLiveOnly ? "ok" : "ready") ? .success(answer) : .failure(stranger)
        } catch let refusal as JSONCaller.Refusal {
            return .failure(CommandError("\(refusal)"))
        } catch let error as OutboundError {
            return .failure(CommandError(error == .refused ? "no server listens there" : "\(error)"))
        } catch {
            return .failure(stranger)
        }
    }

    /// Returns the line for a server that is well.
    ///
    /// - Throws: The line for one that is not.
    func line(_ result: Result<JSONObject, CommandError>) throws(CommandError) -> String {
        switch result {
        case .success(let answer):
            let troubled = answer["routes"]?.array?.count ?? 0
            let note = troubled == 0 ? "" : "; \(Wording.count(troubled, "route")) to APNs in trouble (GET /readyz)"
            return "\(address.url) is \(word)\(note)"
        case .failure(let reason): throw CommandError("\(address.url) is not \(word): \(reason)")
        }
    }

    func json(_ result: Result<JSONObject, CommandError>) -> JSONObject {
        var object: JSONObject = ["server": .string(address.url)]
        let name = isLiveOnly ? "isAlive" : "isReady"
        switch result {
        case .success(let answer):
            object[name] = .bool(true)
            object["routes"] = answer["routes"]
            object["damagedRows"] = answer["damagedRows"]
        case .failure(let reason):
            object[name] = .bool(false)
            object["problem"] = .string(reason.description)
        }
        return object
    }
}
