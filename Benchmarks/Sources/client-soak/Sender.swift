import APNSClient
import APNSModel
import JSONText
import Synchronization

/// Sends every push once and keeps its result.
final class Sender: Sendable {
    /// The client's result for a push.
    enum Account: UInt8 {
        case nothing, accepted, refused, unknown, otherFailure, twice
    }

    private static let batch = 100
    private static let lanes = 8
    static let outstanding = batch * lanes
    private static let limit = Duration.seconds(20)

    let client: APNSClient
    private let bundleID: BundleID
    private let token: @Sendable (Int) -> String
    private let accounts: Mutex<[Account]>
    private let failures = Mutex<[String: Int]>([:])

    init(
        port: Int, authority: String, keyID: String, teamID: String, p8: String, app: String, count: Int,
        token: @escaping @Sendable (Int) -> String
    ) throws {
        guard let bundleID = BundleID(app) else { throw SoakProblem("no bundle id") }
        self.bundleID = bundleID
        self.token = token
        accounts = Mutex(Array(repeating: .nothing, count: count))
        var options = APNSClient.Options()
        options.maximumConnections = 4
        options.reconnectDelay = .milliseconds(10)
        options.maximumReconnectDelay = .milliseconds(200)
        let route = APNSClient.Route(
            bundleID: bundleID, environment: .sandbox, key: try ProviderKey(keyID: keyID, teamID: teamID, p8: p8),
            endpoint: try APNSClient.Endpoint(host: "127.0.0.1", port: port),
            trustRoots: .pem(Array(authority.utf8)))
        client = try APNSClient(routes: [route], options: options)
    }

    /// The result of each push, by its number.
    var all: [Account] { accounts.withLock { $0 } }
    /// Number of times that each failure occurred, by its description.
    var allFailures: [String: Int] { failures.withLock { $0 } }

    func run(_ range: Range<Int>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (lane, first) in stride(from: range.lowerBound, to: range.upperBound, by: Self.batch).enumerated() {
                if lane >= Self.lanes { try await group.next() }
                group.addTask { try await self.send(first..<min(first + Self.batch, range.upperBound)) }
            }
            try await group.waitForAll()
        }
    }

    private func send(_ range: Range<Int>) async throws {
        let deadline = APNSClient.liveTime.monotonic() + Self.limit
        let payload = try UpdatePayload(
            timestamp: APNSClient.liveTime.wall(), contentState: try EncodedObject(parsing: #"{"soak":true}"#.utf8))
        let pushes = try range.map { number in
            Push(
                .update(
                    payload, to: try UpdateToken(hex: token(number)),
                    PushRequest.Envelope(
                        bundleID: bundleID, environment: .sandbox, priority: number.isMultiple(of: 3) ? .low : .high,
                        expiration: .once, id: PushID(high: 50, low: UInt64(number)))),
                sendBefore: deadline, answerBy: deadline)
        }
        let left = Mutex(pushes.count)
        await withCheckedContinuation { continuation in
            client.submit(pushes) { index, result in
                self.note(range.lowerBound + index, result)
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { continuation.resume() }
            }
        }
    }

    private func note(_ number: Int, _ result: Result<PushAnswer, PushFailure>) {
        let account: Account
        switch result {
        case .success(let answer): account = answer.status == 200 ? .accepted : .refused
        case .failure(let failure):
            account = failure.code == .unknownFate ? .unknown : .otherFailure
            failures.withLock { $0["\(failure)", default: 0] += 1 }
        }
        accounts.withLock { $0[number] = $0[number] == .nothing ? account : .twice }
    }
}
