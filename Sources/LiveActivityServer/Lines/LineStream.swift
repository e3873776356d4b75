import APNSModel
import HTTPTypes
import Hummingbird
import JSONText
import LiveActivityAPI
import LiveActivityCore
import NIOCore
import Synchronization

/// What makes a write of a line.
protocol LineReader: Sendable {
    /// The most bytes of a line.
    var lineBytes: Int { get }
    /// The call that a line stands for, and what it is about: lines of one subject keep their order.
    func read(_ line: [UInt8]) throws(Problem) -> (subject: String?, call: LineCall)
}

/// A write of a line, ready to be made.
struct LineCall: Sendable {
    let call: Call
    let handler: @Sendable (Call) async throws(Problem) -> Answer
}

/// A body of lines and its answers, both at the same time: lines are read while earlier ones are being committed and
/// their answers written, so that many share a commit.
///
/// One task reads, at most `openLines` work, the task of the connection writes. Who reads its answers slowly, or only
/// after it has sent everything, has `unreadBytes` of them kept; then no further line is read.
struct LineStream: Sendable {
    private typealias Window = LineWindow<(number: Int, LineCall)>

    /// The state that the tasks share, and what wakes them.
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
    /// Of whoever sends the lines.
    let standing: CallerStanding
    let limits: LiveActivityServer.Limits
    let time: TimeSource
    let requestID: String

    /// - Throws: What the connection threw; what was read before is committed or not.
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
        // Whatever ends the reading: the writer must not wait for more.
        defer {
            shared.window.withLock { $0.close() }
            shared.ready.ring()
        }
        try await withThrowingDiscardingTaskGroup { workers in
            var room = shared.room.rings.makeAsyncIterator()
            var standing = self.standing
            var splitter = LineSplitter(limit: reader.lineBytes)
            var input = body.makeAsyncIterator()
            // Of what comes only whole lines count: whoever sends something else would have the place for ever.
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
                    // What cannot be looked at now may be at the next line.
                    if error.code.status == 401 { return }
                    continue
                }
                if let entry = take(line, number, shared) {
                    workers.addTask { await work(entry, shared) }
                }
            }
        }
    }

    /// A line that work may begin on now; a broken one is answered at once.
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

    /// Works on a line and on those of its subject that wait for it.
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
            // As `LineAnswer` is encoded, without the detour: there may be a million of them.
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

/// Wakes one task; ringing twice before it wakes is ringing once.
struct Bell: Sendable {
    let rings: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (rings, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func ring() { continuation.yield() }
}
