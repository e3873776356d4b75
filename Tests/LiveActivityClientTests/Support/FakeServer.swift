import Foundation
import JSONText
import LiveActivityClient

/// A server in a value: records calls, answers with desired states, and can be made unavailable.
final class FakeServer: ClientTransport, @unchecked Sendable {
    struct Call: Sendable {
        let method: String
        let path: String
        let body: JSONObject
        let credential: String
    }

    struct Away: Error {}

    private let lock = NSLock()
    private let calls = Log<Call>()
    private var isAway = false
    private var wishes: [JSONValue] = []
    private var refused: Set<String> = []
    private var forbidden: Set<String> = []
    private var given: [String] = []
    private var clock: Date?
    private var joinAnswer: ClientResponse?

    private func locked<Value>(_ body: (FakeServer) -> Value) -> Value {
        lock.lock()
        defer { lock.unlock() }
        return body(self)
    }

    var said: [Call] { calls.all }

    func said(_ path: String) -> [Call] { said.filter { $0.path.hasSuffix(path) } }

    func setAway(_ isAway: Bool) { locked { $0.isAway = isAway } }

    /// Sets the server's clock; otherwise it is this machine's clock.
    func setDate(_ date: Date) { locked { $0.clock = date } }

    func refuse(_ credential: String) { _ = locked { $0.refused.insert(credential) } }

    /// Treats the credential as another person's.
    func forbid(_ credential: String) { _ = locked { $0.forbidden.insert(credential) } }

    /// Sets the credentials for phones that ask for one, in order.
    func give(_ credentials: String...) { locked { $0.given = credentials } }

    /// Sets the desired states of every phone from now on.
    func want(_ wishes: JSONObject...) { locked { $0.wishes = wishes.map(JSONValue.object) } }

    /// Sets the answer to calls that join an activity.
    func offer(_ body: JSONObject, status: Int = 200) {
        let answer = JSONValue.object(body)
        locked { $0.joinAnswer = ClientResponse(status: status, body: Data(answer.bytes)) }
    }

    func send(_ request: ClientRequest) async throws -> ClientResponse {
        let body = request.body.flatMap { try? JSONValue(parsing: Array($0)) }?.object ?? [:]
        let response = locked { server -> ClientResponse? in
            guard !server.isAway else { return nil }
            guard !server.refused.contains(request.credential) else {
                return ClientResponse(status: 401, body: Data(#"{"code":"key_invalid"}"#.utf8))
            }
            guard !server.forbidden.contains(request.credential) else {
                return ClientResponse(status: 403, body: Data(#"{"code":"user_differs"}"#.utf8))
            }
            if request.method == "GET", let answer = server.joinAnswer { return answer }
            var object: JSONObject = ["activities": .array(server.wishes)]
            if body["wantsCredential"]?.bool == true, !server.given.isEmpty {
                object["credential"] = .string(server.given.removeFirst())
            }
            let answer = JSONValue.object(object)
            return ClientResponse(status: 200, date: server.clock ?? Date(), body: Data(answer.bytes))
        }
        guard let response else { throw Away() }
        if response.status == 200 {
            calls.add(
                Call(method: request.method, path: request.path, body: body, credential: request.credential))
        }
        return response
    }

    /// Waits, without polling, until the calls satisfy the condition.
    func wait(until isWanted: ([Call]) -> Bool) async throws { try await calls.wait(until: isWanted) }

    /// Waits until a card was reported, by itself or in an inventory.
    func wait(toHearOf card: String) async throws {
        try await wait { calls in
            calls.contains { call in
                call.path.hasSuffix(card)
                    || (call.body["instances"]?.array ?? []).contains { $0.object?["localID"] == .string(card) }
            }
        }
    }
}

/// Storage in memory. It can be locked as a phone's is before the first unlock.
final class FakeStorage: ClientStorage, @unchecked Sendable {
    struct Locked: Error {}

    private let lock = NSLock()
    private var data: Data?
    private var isLocked = false
    private var use: (@Sendable () -> Void)?

    /// Runs the body on each read or write.
    func whenUsed(_ body: @escaping @Sendable () -> Void) {
        lock.lock()
        use = body
        lock.unlock()
    }

    func setLocked(_ isLocked: Bool) {
        lock.lock()
        self.isLocked = isLocked
        lock.unlock()
    }

    /// The stored text, for checks.
    var text: String {
        lock.lock()
        defer { lock.unlock() }
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    func load() throws -> Data? {
        lock.lock()
        defer { lock.unlock() }
        use?()
        if isLocked { throw Locked() }
        return data
    }

    func save(_ data: Data) throws {
        lock.lock()
        defer { lock.unlock() }
        use?()
        if isLocked { throw Locked() }
        self.data = data
    }
}

extension FakeServer.Call {
    /// The reports of Live Activities: a single one, or those of an inventory.
    var reports: [JSONObject] { [body] + (body["instances"]?.array ?? []).compactMap(\.object) }
}
