// article: command-line
import APNSClient
import APNSModel
import ArgumentParser
import Foundation

@main
struct PushOnce: AsyncParsableCommand {
    @Option(help: "The file AuthKey_<key id>.p8.") var keyFile: String
    @Option(help: "The 10 characters of the key.") var keyID: String
    @Option(help: "The 10 characters of the team.") var teamID: String
    @Option(help: "The app's bundle id.") var app: String
    @Option(help: "The device's token, in hexadecimal.") var token: String
    @Flag(help: "For development builds.") var sandbox = false
    @Argument(help: "What the notification says.") var words: String

    func run() async throws {
        let key = try ProviderKey(
            keyID: keyID, teamID: teamID, p8: String(contentsOfFile: keyFile, encoding: .utf8))
        let route = try APNSClient.Route(app, sandbox ? .sandbox : .production, key: key)
        let payload = try AlertPayload(PushAlert(title: .text(words)))
        let request = try PushRequest.alert(payload, to: DeviceToken(hex: token), route.envelope())
        let client = try APNSClient(routes: [route])
        do throws(PushFailure) {
            let answer = try await client.send(request)
            print("\(answer.status) \(answer.reason?.text ?? "accepted"), apns-id \(request.id)")
        } catch {
            print("no answer: \(error)")
        }
        await client.shutdown()
    }
}
// end
