import APNSModel
import HTTPTypes
import Hummingbird
import JSONText
import LiveActivityAPI
import LiveActivityCore
import NIOCore
import Synchronization

/// A reader that turns lines into writes.
protocol LineReader: Sendable {
    /// Maximum size of a line in bytes.
    var lineBytes: Int { get }
    /// Returns the call of a line and its subject. Lines of one subject keep their order.
    func read(_ line: [UInt8]) throws(Problem) -> (subject: String?, call: LineCall)
}

/// The write of a line, ready to run.
struct LineCall: Sendable {
    let call: Call
    let handler: @Sendable (Call) async throws(Problem) -> Answer
}

/// A body of lines and its answers, which are read and written at the same time.
///
/// Lines are read while earlier ones are committed and their answers written, so that many lines share a commit. One
/// task reads, at most `openLines` tasks work, and the connection's task writes.
///
/// If the client reads its answers slowly, or only after it has sent everything, up to `unreadBytes` of answers are
/// kept. No further line is read while they wait.
struct LineStream: Sendable {
    private typealias Window = LineWindow<(number: Int, LineCall)>

    /// The state that the tasks share, and the bells that wake them.
    private final class Shared: Sendable {
        let window: Mutex<Window>
        let ready: Bell
        let room: Bell

        init(_ window: Window) {
            self.window = Mutex(window)
            ready = Bell()
            room = Bell()
        }
    }

    let reader: any LineReader
    /// The standing of the sender of the lines.
    let standing: CallerStanding
    let limits: LiveActivityServer.Limits
    let time: TimeSource
    let requestID: String

    /// - Throws: The error of the connection. Lines that were read before may or may not be committed.
    @concurrent
    func run(_ body: RequestBody, _ writer: inout any ResponseBodyWriter) async throws {
        let shared = Shared(Window(maximumOpen: limits.openLines, maximumUnread: limits.unreadBytes))
        async let reading: Void = read(body, shared)
        var ready = shared.ready.rings.makeAsyncIterator()
        while true {
            let (bytes, isOver) = shared.window.withLock { window in (window.takeAnswers(), window.isOver) }
            if !bytes.isEmpty {
                try await writer.write(ByteBuffer(bytes: bytes))
                shared.window.withLock { $0.written(bytes.count) }
                shared.room.ring()
            } else if isOver {
                break
            } else {
                guard await ready.next() != nil else { throw CancellationError() }
            }
        }
        try await reading
        try await writer.finish(nil)
    }

    private func read(_ body: RequestBody, _ shared: Shared) async throws {
        // The writer must not wait for more, however reading ends.
        defer {
            shared.window.withLock { $0.close() }
            shared.ready.ring()
        }
        try await withThrowingDiscardingTaskGroup { workers in
            var room = shared.room.rings.makeAsyncIterator()
            var standing = self.standing
            var splitter = LineSplitter(limit: reader.lineBytes)
            var input = body.makeAsyncIterator()
            // Only whole lines count. Otherwise a client that sends something else would hold its place forever.
            var lastLineAt = time.monotonic()
            while true {
                let line: LineSplitter.Line
                if let next = splitter.next() {
                    line = next
                } else if time.monotonic() - lastLineAt >= limits.idleTimeout {
                    return refuse(splitter.count + 1, Self.tooSlow(limits.idleTimeout), shared)
                } else if let bytes = try await input.next() {
                    splitter.append(bytes)
                    continue
                } else if let last = splitter.finish() {
                    line = last
                } else {
                    return
                }
                while !shared.window.withLock(\.hasRoom) {
                    guard await room.next() != nil else { throw CancellationError() }
                }
                lastLineAt = time.monotonic()
                let number = splitter.count
                guard number <= limits.lines else {
                    return refuse(number, Self.tooMany(limits.lines), shared)
                }
                do throws(Problem) {
                    try await standing.check()
                } catch {
                    refuse(number, error, shared)
                    // A refusal other than 401 may be temporary, so the next line is tried.
                    if error.code.status == 401 { return }
                    continue
                }
                if let entry = take(line, number, shared) {
                    workers.addTask { await work(entry, shared) }
                }
            }
        }
    }

    /// Returns a line on which work may begin now. Answers a broken line at once.
    private func take(_ line: LineSplitter.Line, _ number: Int, _ shared: Shared) -> Window.Entry? {
        do throws(Problem) {
            guard case .text(let bytes) = line else {
                throw Problem(
                    .bodyTooLarge, "a line has at most \(reader.lineBytes) bytes",
                    expected: "at most \(reader.lineBytes) bytes")
            }
            let (subject, call) = try reader.read(bytes)
            return shared.window.withLock { $0.admit((number, call), subject: subject) }
        } catch {
            refuse(number, error, shared)
            return nil
        }
    }

    private func refuse(_ number: Int, _ problem: Problem, _ shared: Shared) {
        let bytes = bytes(number, .failure(problem))
        shared.window.withLock { $0.answer(bytes) }
        shared.ready.ring()
    }

    /// Processes a line, and then the lines of its subject that wait for it.
    private func work(_ first: Window.Entry, _ shared: Shared) async {
        var next: Window.Entry? = first
        while let entry = next {
            let (number, line) = entry.work
            let result: Result<Answer, Problem>
            do throws(Problem) {
                result = .success(try await line.handler(line.call))
            } catch {
                result = .failure(error)
            }
            let bytes = bytes(number, result)
            next = shared.window.withLock { $0.finish(entry, bytes) }
            shared.ready.ring()
            shared.room.ring()
        }
    }

    private func bytes(_ number: Int, _ result: Result<Answer, Problem>) -> [UInt8] {
        let answer: LineAnswer
        switch result {
        case .success(let done):
            // Builds the JSON of a `LineAnswer` directly, because there may be a million of them.
            var object: JSONObject = ["line": .number(JSONNumber(number)), "status": 200]
            if done.isReplayed { object["replayed"] = true }
            object["body"] = done.body
            return JSONValue.object(object).bytes + [UInt8(ascii: "\n")]
        case .failure(let problem):
            let document = problem.document(requestID: "\(requestID)-\(number)")
            let body = (try? JSONValue(encoding: document)) ?? .object([:])
            answer = LineAnswer(line: number, status: document.status, body: body)
        }
        return ((try? JSONValue(encoding: answer))?.bytes ?? []) + [UInt8(ascii: "\n")]
    }

    private static func tooSlow(_ limit: Duration) -> Problem {
        Problem(
            .requestTimeout, "no whole line came within \(limit.wholeMilliseconds) ms; nothing after it was read",
            fix: "send lines as they are there, and end the call when there are none")
    }

    private static func tooMany(_ limit: Int) -> Problem {
        Problem(
            .bodyTooLarge, "one call has at most \(limit) lines; this one and those after it were not read",
            expected: "at most \(limit) lines", fix: "send the rest in another call")
    }
}

/// A signal that wakes one task. Several rings before the task wakes count as one.
struct Bell: Sendable {
    let rings: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (rings, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func ring() { continuation.yield() }
}
