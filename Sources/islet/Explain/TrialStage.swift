import APNSModel
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// The server's own claims and settlements at given instants, with an APNs that accepts every push.
struct TrialStage {
    /// A push that has left.
    struct Sent {
        let seat: Flight.Seat
        let desired: DesiredSituation
    }

    /// Maximum number of instants in one run, and of claims at one instant.
    static let maximumSteps = 50_000

    let store: SQLStore
    let app: AppSettings
    private var claims: UInt64 = 0

    init(store: SQLStore, app: AppSettings) {
        self.store = store
        self.app = app
    }

    /// Sends all due pushes.
    ///
    /// - Returns: The pushes in order.
    mutating func deliver(at now: UnixTime) async throws -> [Sent] {
        var sent: [Sent] = []
        for _ in 0..<Self.maximumSteps {
            claims += 1
            let reply = try await commit(
                ClaimWork(now: now, node: 1, apps: [app.bundleID: app], seed: claims &* 0x9E37_79B9))
            for eviction in reply.evictions { _ = try await commit(eviction) }
            for flight in reply.flights {
                sent += flight.seats.map { Sent(seat: $0, desired: flight.desired) }
                let entries = flight.seats.map {
                    SettleFlight.Entry(seat: $0, outcome: .answered(.success(PushAnswer(status: 200))), dice: 0.5)
                }
                _ = try await commit(SettleFlight(flight: flight, entries: entries, app: app, now: now))
            }
            if reply.flights.isEmpty, !reply.hasMore { break }
        }
        return sent
    }

    /// Registers a phone, with a push-to-start token if `type` is given.
    func register(
        _ id: DeviceID, _ body: RegisterDevice.Body, key: DeviceKey, starts type: String?, at now: UnixTime
    ) async throws {
        _ = try await commit(RegisterDevice(app: app, id: id, body: body, now: now, freshKey: key))
        guard let type else { return }
        let token = try PushToStartToken(hex: Self.token("start \(id.text)"))
        _ = try await commit(RegisterPushToStartToken(app: app, id: id, type: type, token: token, now: now))
    }

    func commit<C: Command>(_ command: C) async throws -> C.Reply {
        switch try await store.commit(command) {
        case .success(let reply): return reply
        case .failure(let refusal): throw CommandError("a step was refused: \(refusal)")
        }
    }

    /// Returns 64 hexadecimal digits made from a word.
    static func token(_ word: String) -> String {
        var text = ""
        for part in 0..<4 {
            let digits = String(Digest.fnv1a("\(part) \(word)".utf8), radix: 16)
            text += String(repeating: "0", count: 16 - digits.count) + digits
        }
        return text
    }
}
