import APNSModel
import Foundation
import JSONText
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

    /// - Parameter isOpen: `true` if everybody may join a ride; `false` if only its audience may.
    init(isOpen: Bool = false) {
        let ride = Sample.type("ride", activityIDAttribute: "/rideID") { $0.join = isOpen ? .open : .audience }
        door = ServerDoor(app: Sample.app(ride, environments: [.sandbox]))
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

    /// Sets the state of a ride as its backend does, for nobody.
    func set(_ ride: String, step: Int) {
        locked { server in
            let app = server.door.app
            guard let type = app.types["ride"] else { return }
            var body = SetDesiredState.Body(state: ["step": .number(JSONNumber(step))])
            body.attributes = ["rideID": .string(ride)]
            _ = try? server.door.run(
                SetDesiredState(
                    app: app.bundleID, id: Sample.activityID(ride), type: type, body: body, now: Sample.now))
        }
    }

    /// Returns ActivityKit's ids of the cards of a ride that the server takes to be shown.
    func cards(of ride: String) -> [String] {
        locked { server -> [String] in
            let rows = server.door.store.rows
            let number = rows.activityNumbers[.init(server.door.app.bundleID, Sample.activityID(ride))]
            let cards = rows.cards.values.filter { $0.activity == number && $0.state == .live }
            return cards.compactMap { $0.localID?.text }
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
                number: 0, method: PhoneCall.Method(rawValue: request.method) ?? .put, path: request.path,
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
