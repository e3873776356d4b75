import APNSModel
import Foundation
import LiveActivityClient
import LiveActivityCore
import LiveActivityRegistration
import TestSupport

/// The server's own rules behind the client's transport. A person's token is their name.
final class DoorServer: ClientTransport, @unchecked Sendable {
    struct Call: Sendable {
        let request: ClientRequest
        let status: Int
    }

    private let lock = NSLock()
    private var door: ServerDoor
    private var calls: [Call] = []
    private var lost = 0

    init() {
        door = ServerDoor(
            app: Sample.app(Sample.type("ride", activityIDAttribute: "/rideID"), environments: [.sandbox]))
        door.knowsPeople = true
    }

    private func locked<Value>(_ body: (DoorServer) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    var handled: [Call] { locked(\.calls) }

    /// The person who is signed in on each device; a device that was left has none.
    var people: [String: String] {
        locked { server in
            let devices = server.door.store.rows.devices.values.filter { $0.signedOutAt == nil }
            return Dictionary(uniqueKeysWithValues: devices.map { ($0.id.text, $0.userID.text) })
        }
    }

    func revoke(_ device: String) { locked { _ = $0.door.revoke(device) } }

    /// Loses the answers to the next calls.
    func loseAnswers(_ count: Int) { locked { $0.lost = count } }

    struct Lost: Error {}

    func send(_ request: ClientRequest) async throws -> ClientResponse {
        let answer = locked { server -> PhoneAnswer? in
            var given = PhoneCredentials()
            if request.credential.hasPrefix("islet_device_") {
                given.own = request.credential
            } else {
                given.borrowed = request.credential
            }
            given.proof = request.proof
            let call = PhoneCall(
                number: 0, method: request.method == "DELETE" ? .delete : .put, path: request.path,
                body: request.body.map { Array($0) }, showsProof: request.proof != nil)
            let answer = server.door.handle(call, given, now: Sample.now)
            server.calls.append(Call(request: request, status: answer.status))
            guard server.lost == 0 else {
                server.lost -= 1
                return nil
            }
            return answer
        }
        guard let answer else { throw Lost() }
        return ClientResponse(status: answer.status, date: Date(), body: Data(answer.body))
    }
}
