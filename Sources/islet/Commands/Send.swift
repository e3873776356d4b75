import APNSClient
import APNSModel
import ArgumentParser
import JSONText

/// The `islet send` command, which sends one push.
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends one push and prints what APNs answers.",
        discussion: """
            For a Live Activity give the kind start, update or end; for an ordinary notification alert or background.
              islet send update --token 80a1… --state '{"status":"ready","progress":0.4}'
              islet send start --token 5be0… --type OrderTrackingAttributes --attributes '{"orderId":"1"}' \\
                --state '{"status":"preparing","progress":0.2}' --title "Order 1"
            Exits with 0 only when APNs accepts it, which is not to say that the phone shows it.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable { case start, update, end, alert, background }

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var choice: KeyChoice
    @Argument(help: "start, update, end, alert or background.") var kind: Kind
    @Option(help: "The token, of the kind that fits: push-to-start, update or device token.") var token: String
    @Option(help: "The content state, a JSON object.") var state: String?
    @Option(help: "The attributes, a JSON object (start).") var attributes = "{}"
    @Option(help: "The Swift name of the attributes type (start).") var type: String?
    @Option(help: "The alert's title.") var title: String?
    @Option(help: "The alert's body.") var body: String?
    @Option(help: "The alert's sound: a file of the app, or `default`.") var sound: String?
    @Option(help: "5 or 10.") var priority = 10
    @Flag(help: "Removes the card at once (end).") var dismiss = false
    @Option(help: "Seconds that APNs keeps it for a phone that is off.") var keep = 300
    @Flag(help: "Prints JSON.") var json = false

    private static let timeLimit = Duration.seconds(15)

    func run() async throws {
        let key = try choice.key(of: file.settings())
        let time = APNSClient.liveTime
        let request = try request(app: key.app, environment: key.environment, now: time.wall())
        let client = try APNSClient(routes: [key.route])
        let deadline = time.monotonic() + Self.timeLimit
        let outcome: Result<PushAnswer, PushFailure>
        do throws(PushFailure) {
            outcome = .success(try await client.send(Push(request, sendBefore: deadline, answerBy: deadline)))
        } catch {
            outcome = .failure(error)
        }
        await client.shutdown(within: .seconds(1))
        if json { Output.json(Self.json(outcome, request.id)) }
        switch outcome {
        case .success(let answer):
            if !json {
                Output.line("\(answer.status) \(answer.reason?.text ?? "accepted")  apns-id \(answer.id ?? request.id)")
            }
            if answer.status != 200 { throw ExitCode.failure }
        case .failure(let failure):
            if !json { Output.line("no answer: \(failure)") }
            throw ExitCode.failure
        }
    }

    static func json(_ outcome: Result<PushAnswer, PushFailure>, _ id: PushID) -> JSONObject {
        switch outcome {
        case .success(let answer):
            var object: JSONObject = [
                "isAccepted": .bool(answer.status == 200), "status": .number(JSONNumber(answer.status)),
                "apnsID": .string((answer.id ?? id).description),
            ]
            object["reason"] = answer.reason.map { .string($0.text) }
            return object
        case .failure(let failure):
            return [
                "isAccepted": false, "apnsID": .string(id.description), "failure": .string(failure.code.rawValue),
                "detail": .string(failure.description),
            ]
        }
    }

    func request(app: BundleID, environment: APNSEnvironment, now: UnixTime) throws -> PushRequest {
        guard let priority = PushPriority(rawValue: priority), priority != .lowest else {
            throw CommandError("a priority is 5 or 10")
        }
        guard (0...2_592_000).contains(keep) else { throw CommandError("--keep is 0 to 2592000 seconds (30 days)") }
        let envelope = PushRequest.Envelope(
            bundleID: app, environment: environment, priority: priority,
            expiration: keep == 0 ? .once : .at(now + .seconds(Int64(keep))),
            id: PushID(random: .random(in: 0 ... .max), .random(in: 0 ... .max)))
        let alert = title.map { PushAlert(title: .text($0), body: body.map { .text($0) }, sound: sound) }
        switch kind {
        case .start:
            guard let type else { throw CommandError("a start needs --type, the Swift name of the attributes type") }
            guard let alert else { throw CommandError("a start needs --title: without an alert the phone drops it") }
            let payload = try StartPayload(
                timestamp: now, attributesType: type, attributes: try object(attributes, "--attributes"),
                contentState: try requiredState(), alert: alert)
            return .start(payload, to: try PushToStartToken(hex: token), envelope)
        case .update:
            let payload = try UpdatePayload(timestamp: now, contentState: try requiredState(), alert: alert)
            return .update(payload, to: try UpdateToken(hex: token), envelope)
        case .end:
            let payload = try EndPayload(
                timestamp: now, contentState: try state.map { try object($0, "--state") },
                dismissal: dismiss ? .immediate : .systemDefault, alert: alert)
            return .end(payload, to: try UpdateToken(hex: token), envelope)
        case .alert:
            guard let alert else { throw CommandError("an alert needs --title") }
            return .alert(try AlertPayload(alert), to: try DeviceToken(hex: token), envelope)
        case .background:
            return .background(BackgroundPayload(), to: try DeviceToken(hex: token), envelope)
        }
    }

    private func requiredState() throws -> EncodedObject {
        guard let state else { throw CommandError("--state is needed: the content state as a JSON object") }
        return try object(state, "--state")
    }

    private func object(_ text: String, _ option: String) throws -> EncodedObject {
        do throws(JSONSyntaxError) {
            return try EncodedObject(parsing: text.utf8)
        } catch {
            throw CommandError("\(option): \(error)")
        }
    }
}
