import NIOHTTP1
import OutboundHTTP

/// A caller of Islet's API that sends many calls in concurrent batches.
final class LoadCaller: Sendable {
    /// Maximum number of batches that Islet reads at a time.
    static let maximumStreams = 8
    /// Maximum number of single calls at a time: `OutboundClient` makes so many to one server.
    static let maximumCallers = 32
    /// Number of calls in a batch.
    private static let batch = 5000
    private static let timeLimit = Duration.seconds(300)
    private static let maximumAnswerBytes = 64 << 20

    private let client: OutboundClient
    private let address: String
    private let key: String

    init(_ address: String, key: String) {
        self.address = address
        self.key = key
        client = OutboundClient()
    }

    func close() {
        client.stop()
    }

    /// Makes calls in any order.
    ///
    /// - Parameter streams: Number of concurrent batches.
    /// - Throws: `CommandError` if a call fails.
    func make(_ count: Int, streams: Int, _ call: @escaping @Sendable (Int) -> APICall) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Batches are small enough that every stream gets one.
            let size = min(Self.batch, max(1, count / streams))
            for (number, start) in stride(from: 0, to: count, by: size).enumerated() {
                if number >= streams { try await group.next() }
                group.addTask { try await self.makeTogether((start..<min(start + size, count)).map(call)) }
            }
            try await group.waitForAll()
        }
    }

    /// Makes calls in one batch. Calls about the same activity run one after the other.
    func makeTogether(_ calls: [APICall]) async throws {
        var body: [UInt8] = []
        for call in calls { body.append(contentsOf: call.line.utf8) }
        let answer = try await call(.POST, "/v1/batch", "application/x-ndjson", body)
        var answers = BatchAnswers()
        try answers.take(answer.body)
        guard answers.count == calls.count else {
            throw CommandError("POST /v1/batch: \(answers.count) answers to \(calls.count) calls")
        }
    }

    /// Makes one call by itself, on a connection that is kept.
    func put(_ change: APICall) async throws {
        _ = try await call(.PUT, change.path, "application/json", Array(change.body.utf8))
    }

    private func call(
        _ method: HTTPMethod, _ path: String, _ type: String, _ body: [UInt8]
    ) async throws -> OutboundAnswer {
        guard let url = OutboundURL(address + path) else {
            throw CommandError("\(address + path) is no URL of a server")
        }
        let headers: HTTPHeaders = ["authorization": "Bearer \(key)", "content-type": type]
        let answer = try await client.call(
            OutboundRequest(
                method, url, headers, body: body, timeout: Self.timeLimit, maximumAnswerBytes: Self.maximumAnswerBytes))
        guard 200..<300 ~= answer.status, !answer.isCut else {
            let problem = String(decoding: answer.body.prefix(400), as: UTF8.self)
            throw CommandError("\(method) \(path): \(answer.status): \(problem)")
        }
        return answer
    }
}

/// A counter of a batch's answers, one per line, which refuses the first answer that is not a success.
struct BatchAnswers {
    private(set) var count = 0
    private var partial: [UInt8] = []

    private static let status = Array(#""status":"#.utf8)
    /// Number of bytes that contain the status, between the line's number and the body. The body is not parsed, because
    /// that would cost this machine as much as the server's work.
    private static let head = 48

    /// Counts the answers in a part of the response.
    ///
    /// - Throws: `CommandError` with the first 400 bytes of an answer that is not a success.
    mutating func take(_ bytes: some Collection<UInt8>) throws(CommandError) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            partial += rest[..<end]
            guard Self.isSuccess(partial) else {
                throw CommandError("a call of a batch failed: \(String(decoding: partial.prefix(400), as: UTF8.self))")
            }
            count += 1
            partial.removeAll(keepingCapacity: true)
            rest = rest[rest.index(after: end)...]
        }
        partial += rest
    }

    private static func isSuccess(_ line: [UInt8]) -> Bool {
        let head = line.prefix(head)
        for start in head.indices where head[start...].starts(with: status) {
            let digit = start + status.count
            return head.indices.contains(digit) && head[digit] == UInt8(ascii: "2")
        }
        return false
    }
}
