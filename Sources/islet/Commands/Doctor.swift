import APNSModel
import ArgumentParser
import Foundation
import JSONText

/// The `islet doctor` command, which checks everything that pushes depend on.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks everything that pushes depend on: configuration, database, contracts, keys, clock, "
            + "connection to APNs, broadcast channels.",
        discussion: """
            Prints one line for each check: ok, warning, failed or skipped, and below it what to do. Can run beside \
            the server. For each key it sends one push to an invalid token: the refusal proves that APNs can be \
            reached and accepts key, team and app. If an app uses broadcast channels, it lists them. The command \
            connects to backends, webhook endpoints and key sets, and reads only the key sets. It changes nothing, \
            and no phone is affected. Each finding has a stable id, in --json and in docs/operating/doctor.md.
            Exits with 0 when nothing failed, else with 1.

            With --device it asks the running server why something did not arrive on that phone, and prints the \
            gravest finding first. It needs --server and an API key of the scope read (--key, or the variable \
            ISLET_KEY). It exits with 1 when something is blocked.

            With --project it reads an iOS app's project: what its Info.plist, entitlements, targets and build \
            settings lack for Live Activities with push. It needs no Mac and no network, changes nothing, and reads \
            nothing outside of that folder. If there is a configuration, the app's bundle id is compared with it.
            """)

    @OptionGroup var file: ConfigurationOption
    @Option(help: "Only this app, by bundle id.") var app: String?
    @Option(help: "Only this environment's keys: sandbox or production.") var environment: String?
    @Flag(help: "Skips the checks that need the network.") var offline = false
    @Flag(help: "Prints JSON.") var json = false
    @Option(help: "Diagnoses the phone with this device id: why did something not arrive?") var device: String?
    @Option(help: "Checks the app's project in this folder, which has the .xcodeproj.") var project: String?
    @Option(help: "With --device: checks only this activity.") var activity: String?
    @OptionGroup(title: "With --device") var server: ServerOption

    func validate() throws {
        if activity != nil, device == nil { throw ValidationError("--activity goes with --device") }
        if project != nil, device != nil || environment != nil || offline {
            throw ValidationError("--project goes with --app, --config and --json alone")
        }
        if let environment, APNSEnvironment(rawValue: environment) == nil {
            throw ValidationError("an environment is sandbox or production, not `\(environment)`")
        }
    }

    func run() async throws {
        if let device { return try await diagnose(device) }
        if let project { return try report(look(at: project)) }
        let examination = ConfigurationLoader.examine(file.config)
        let scope = FactGatherer.Scope(
            app: app, environment: environment.flatMap(APNSEnvironment.init(rawValue:)), isOffline: offline)
        if let settings = examination.settings, !settings.keys.contains(where: scope.covers) {
            throw CommandError("no key is configured for that")
        }
        let facts = await FactGatherer().facts(of: examination, file: file.config, scope)
        try report(Diagnosis.findings(facts))
    }
}

extension Doctor {
    private func report(_ findings: [Finding]) throws {
        Output.text(json ? FindingReport.json(findings) : FindingReport.text(findings))
        if findings.contains(where: { $0.outcome == .failed }) { throw ExitCode.failure }
    }

    private func look(at project: String) -> [Finding] {
        var facts = ProjectReader.facts(project, app: app)
        // The standard file may be missing, because most app developers have no server's configuration beside their
        // project. A file that was named must exist.
        let isThere = FileManager.default.fileExists(atPath: file.config)
        guard isThere || file.config != ConfigurationOption.standard else { return ProjectDiagnosis.findings(facts) }
        let examination = ConfigurationLoader.examine(file.config)
        facts.server = examination.settings.map(ProjectFacts.ServerFacts.init)
        let problems = examination.problems.map {
            ConfigurationCheck.words($0, text: examination.text, file: file.config)
        }
        return problems.map { Finding(.configurationWrong, $0) } + ProjectDiagnosis.findings(facts)
    }

    private func diagnose(_ device: String) async throws {
        let query = activity.map { "?activity=\(JSONCaller.segment($0))" } ?? ""
        let path = "/v1/devices/\(JSONCaller.segment(device))/diagnosis\(query)"
        let answer = try await server.get(path, by: server.caller())
        Output.text(json ? answer.text + "\n" : DiagnosisReport.text(answer))
        if answer.object?["verdict"] == "blocked" { throw ExitCode.failure }
    }
}

/// The printed form of a diagnosis.
enum DiagnosisReport {
    static func text(_ answer: JSONValue) -> String {
        let findings = answer.object?["findings"]?.array?.compactMap(\.object) ?? []
        let head = "\(answer.object?["device"]?.string ?? ""): \(answer.object?["verdict"]?.string ?? "")\n"
        return head
            + findings.map { finding in
                let activity = finding["activity"]?.string.map { " (\($0))" } ?? ""
                let severity = (finding["severity"]?.string ?? "").padding(toLength: 9, withPad: " ", startingAt: 0)
                var lines = "\(severity)\(finding["id"]?.string ?? "")\(activity): \(finding["text"]?.string ?? "")\n"
                let evidence = finding["evidence"]?.object.map(Array.init) ?? []
                if !evidence.isEmpty {
                    lines +=
                        "         "
                        + evidence.map { "\($0.key)=\($0.value.string ?? $0.value.text)" }
                        .joined(separator: " ") + "\n"
                }
                if let fix = finding["fix"]?.string { lines += "         -> \(fix)\n" }
                return lines
            }.joined()
    }
}

/// The printed form of findings.
enum FindingReport {
    static func text(_ findings: [Finding]) -> String {
        findings.map { finding in
            let head = padded(finding.outcome.rawValue, 9) + padded(finding.check.rawValue, 15)
            let place = finding.place.map { "\($0): " } ?? ""
            return "\(head)\(place)\(finding.detail)\n" + (finding.fix.map { "         -> \($0)\n" } ?? "")
        }.joined()
    }

    static func json(_ findings: [Finding]) -> String {
        let worst: Finding.Outcome =
            if findings.contains(where: { $0.outcome == .failed }) {
                .failed
            } else if findings.contains(where: {
                $0.outcome == .warning
            }) { .warning } else { .ok }
        let list = findings.map { finding in
            var object: JSONObject = [
                "id": .string(finding.id.rawValue), "check": .string(finding.check.rawValue),
                "outcome": .string(finding.outcome.rawValue), "detail": .string(finding.detail),
            ]
            object["fix"] = finding.fix.map(JSONValue.string)
            object["file"] = (finding.place?.file).map(JSONValue.string)
            object["line"] = (finding.place?.line).map { .number(JSONNumber($0)) }
            object["key"] = (finding.place?.key).map(JSONValue.string)
            return JSONValue.object(object)
        }
        return JSONValue.object(["outcome": .string(worst.rawValue), "findings": .array(list)]).text + "\n"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
