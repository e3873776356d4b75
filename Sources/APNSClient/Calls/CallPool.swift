import APNSModel
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// The calls of one key to one endpoint: one connection, made when it is needed and closed when it was not for a while.
///
/// Calls leave in the order in which they came, one alone until the provider token was accepted (Apple, "Sending
/// notification requests to APNs"), then up to `maximumOpen` at a time. Everything here runs on one event loop.
final class CallPool: Sendable {
    /// The most calls that wait.
    static let maximumWaiting = 1_000
    /// The most that are open at once, if the peer allows as many.
    static let maximumOpen = 100
    /// A deadline is compared with the clock at least this often: the event loop's own clock stands while the machine
    /// is suspended.
    static let deadlineCheck = Duration.milliseconds(500)

    struct Settings: Sendable {
        let endpoint: APNSClient.Endpoint
        let trustRoots: APNSClient.TrustRoots
        let proxy: APNSClient.Proxy?
        let signer: ProviderTokenSigner
        let time: TimeSource
        let connectTimeout: Duration
        let idleLifetime: Duration
        /// A connection without open calls that was silent for so long is asked before it gets one.
        let staleSilence: Duration
        /// One with open calls is asked after so long.
        let busySilence: Duration
        /// How long it may then leave that unanswered.
        let pingTimeout: Duration
        let dice: @Sendable () -> Double
    }

    /// A connection that takes calls, or finishes those that it took.
    final class Link {
        let channel: any Channel
        let multiplexer: NIOHTTP2Handler.StreamMultiplexer
        var tokens: TokenUse
        var authorization = ""
        /// Counts calls as a connection of pushes counts streams.
        var calls: UInt32 = 0
        var open = 0
        var isAccepted = false
        var lastUse: MonotonicTime
        /// When the peer last said anything.
        var heardAt: MonotonicTime
        /// A PING is not answered yet: no call leaves before that.
        var proof: Scheduled<Void>?
        /// It was answered just now: the next call leaves, however long that takes.
        var isProven = false
        /// Looks whether it is silent while calls are open.
        var silence: Scheduled<Void>?
        /// How many calls the peer allows to be open (RFC 9113 section 6.5.2).
        var peerLimit = CallPool.maximumOpen
        /// What a GOAWAY said.
        var lastStreamID: Int?

        init(
            _ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer, _ tokens: TokenUse,
            _ now: MonotonicTime
        ) {
            self.channel = channel
            self.multiplexer = multiplexer
            self.tokens = tokens
            (lastUse, heardAt) = (now, now)
        }
    }

    enum Connection {
        case none
        case dialing
        case ready(Link)
    }

    struct State {
        var waiting = CircularBuffer<WaitingCall>()
        var connection = Connection.none
        /// All that are not closed yet, with those that only finish.
        var links: [ObjectIdentifier: Link] = [:]
        var security: TransportSecurity?
        var backoff: Backoff
        var dialNotBefore: MonotonicTime?
        var lastFailure: String?
        var isStopping = false
        /// The time to stop is over: a connection that is being made is not waited for.
        var isLate = false
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
    }

    let settings: Settings
    let eventLoop: any EventLoop
    let state: NIOLoopBoundBox<State>

    init(_ settings: Settings, backoff: Backoff, on group: any EventLoopGroup) {
        self.settings = settings
        eventLoop = group.next()
        state = NIOLoopBoundBox.makeBoxSendingValue(State(backoff: backoff), eventLoop: eventLoop)
    }

    var now: MonotonicTime { settings.time.monotonic() }

    /// What APNs answered, a refusal included.
    func perform(_ call: Call) async throws(BroadcastError) -> CallAnswer {
        let promise = eventLoop.makePromise(of: Result<CallAnswer, BroadcastError>.self)
        eventLoop.execute { self.enqueue(WaitingCall(call, promise)) }
        let result: Result<CallAnswer, BroadcastError>
        do {
            result = try await promise.futureResult.get()
        } catch {
            result = .failure(BroadcastError(.stopping, "the event loop has ended"))
        }
        return try result.get()
    }

    // MARK: The queue

    private func enqueue(_ call: WaitingCall) {
        guard !state.value.isStopping else { return call.settle(.failure(Self.stopping)) }
        guard state.value.waiting.count < Self.maximumWaiting else {
            return call.settle(.failure(BroadcastError(.overloaded, "\(Self.maximumWaiting) calls are waiting")))
        }
        watchDeadline(of: call)
        state.value.waiting.append(call)
        advance()
    }

    private func watchDeadline(of call: WaitingCall) {
        let bound = NIOLoopBound(call, eventLoop: eventLoop)
        let next = call.link == nil ? call.lastDeparture : call.call.deadline
        let rest = min(max(.zero, next - now), Self.deadlineCheck)
        call.timer = eventLoop.scheduleTask(in: .nanoseconds(rest.wholeNanoseconds)) {
            let call = bound.value
            if call.isLate(at: self.now) { self.expire(call) } else { self.watchDeadline(of: call) }
        }
    }

    private func expire(_ call: WaitingCall) {
        guard !call.isSettled else { return }
        if let link = call.link {
            call.settle(.failure(BroadcastError(.unknownFate, "no answer came in time")))
            retire(link)
            // Resets the stream, which is then lost, and the connection closes after its last one.
            call.stream?.close(promise: nil)
        } else if let failure = state.value.lastFailure {
            call.settle(.failure(BroadcastError(.cannotConnect, failure)))
        } else {
            call.settle(.failure(BroadcastError(.notSentInTime, "it could not leave in time")))
        }
        state.value.waiting.removeAll { $0 === call }
    }

    /// Sends what may leave now, over the connection that stands or a new one.
    func advance() {
        while !state.value.waiting.isEmpty {
            switch state.value.connection {
            case .dialing: return
            case .none:
                guard !state.value.isStopping else { return }
                let now = now
                guard let instant = state.value.dialNotBefore, instant > now else { return dial() }
                eventLoop.scheduleTask(in: .nanoseconds((instant - now).wholeNanoseconds)) { self.advance() }
                return
            case .ready(let link):
                guard link.proof == nil, link.open < min(link.isAccepted ? Self.maximumOpen : 1, link.peerLimit) else {
                    return
                }
                guard link.open > 0 || link.isProven || now - link.heardAt < settings.staleSilence else {
                    return prove(link, within: min(ConnectionLimits().proofTimeout, settings.pingTimeout))
                }
                guard let call = state.value.waiting.popFirst() else { return }
                guard !call.isLate(at: now) else {
                    expire(call)
                    continue
                }
                link.isProven = false
                start(call, on: link)
            }
        }
    }

    private func start(_ call: WaitingCall, on link: Link) {
        let now = now
        do throws(ProviderKeyError) {
            if let token = try link.tokens.token(wall: settings.time.wall(), now, nextStreamID: link.calls) {
                link.authorization = "bearer \(token.text)"
            }
        } catch {
            return call.settle(.failure(BroadcastError(.notConfigured, error.description)))
        }
        call.link = link
        call.number = link.calls
        link.calls += 1
        link.open += 1
        link.lastUse = now
        watchSilence(of: link)
        let outcome = eventLoop.makePromise(of: CallOutcome.self)
        let created = eventLoop.makePromise(of: (any Channel).self)
        let (request, authority, authorization) = (call.call, settings.endpoint.authority, link.authorization)
        link.multiplexer.createStreamChannel(promise: created) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    CallStream(request, authority: authority, authorization: authorization, outcome: outcome))
            }
        }
        // A stream that cannot be opened carried nothing.
        created.futureResult.whenFailure { outcome.succeed(.refused("no stream could be opened: \($0)")) }
        let bound = NIOLoopBound((call, link), eventLoop: eventLoop)
        created.futureResult.whenSuccess { stream in
            let call = bound.value.0
            if call.isSettled { stream.close(promise: nil) } else { call.stream = stream }
        }
        outcome.futureResult.whenSuccess { outcome in
            let (call, link) = bound.value
            self.finish(call, on: link, outcome)
        }
    }

    // MARK: Outcomes

    private func finish(_ call: WaitingCall, on link: Link, _ outcome: CallOutcome) {
        if case .cancelled(let streamID) = outcome {
            // swift-nio-http2 closes the streams of a GOAWAY before it hands on the frame: judged after that.
            let bound = NIOLoopBound((call, link), eventLoop: eventLoop)
            return eventLoop.execute {
                let (call, link) = bound.value
                let isUntouched = link.lastStreamID.map { streamID > $0 } ?? false
                self.finish(
                    call, on: link,
                    isUntouched ? .refused("the peer did not process it (GOAWAY)") : .lost("the peer reset the stream"))
            }
        }
        link.open -= 1
        link.lastUse = now
        call.link = nil
        call.stream = nil
        switch outcome {
        case .answered(let answer): take(answer, for: call, on: link)
        case .refused(let detail):
            retire(link)
            if call.refusals < Attempt.maximumRefusals {
                call.refusals += 1
                giveBack(call)
            } else {
                call.settle(.failure(BroadcastError(.refusedByPeer, detail)))
            }
        case .cancelled: break
        case .lost(let detail):
            retire(link)
            if call.call.mayRepeat, !call.wasRepeated {
                call.wasRepeated = true
                giveBack(call)
            } else {
                call.settle(.failure(BroadcastError(.unknownFate, detail)))
            }
        }
        closeIfDone(link)
        advance()
    }

    private func take(_ answer: CallAnswer, for call: WaitingCall, on link: Link) {
        link.heardAt = now
        if answer.status != 403, answer.status < 500 {
            link.isAccepted = true
            state.value.backoff.reset()
        }
        let reason = RefusalBody(answer.body).reason
        let wall = settings.time.wall()
        if reason == .known(.invalidProviderToken), let date = answer.date, date - wall < .zero - Resend.clockTolerance,
            call.resent.insert(.renewedToken).inserted
        {
            // Our clock is ahead, and the token is of a time to come.
            let renewal = link.tokens.cameFromFuture(call.number, apnsDate: date, wall: wall, now)
            if renewal == .needsNewConnection { retire(link) }
            return giveBack(call)
        }
        switch Verdict(status: answer.status, reason: reason) {
        case .newConnection where call.resent.insert(.newConnection).inserted:
            retire(link)
            giveBack(call)
        case .renewProviderToken where call.resent.insert(.renewedToken).inserted:
            let renewal = link.tokens.expired(
                call.number, apnsDate: answer.date, wall: wall, now)
            if renewal == .needsNewConnection { retire(link) }
            giveBack(call)
        default: call.settle(.success(answer))
        }
    }

    private func giveBack(_ call: WaitingCall) {
        guard !call.isSettled else { return }
        guard !state.value.isStopping else { return call.settle(.failure(Self.stopping)) }
        state.value.waiting.prepend(call)
    }

    static let stopping = BroadcastError(.stopping, "the client is stopping")
}

/// A call and who waits for it.
final class WaitingCall {
    let call: Call
    private let promise: EventLoopPromise<Result<CallAnswer, BroadcastError>>
    var timer: Scheduled<Void>?
    var refusals: UInt8 = 0
    var resent: Attempt.Resent = []
    var wasRepeated = false
    /// The connection that carries it, and its number there.
    var link: CallPool.Link?
    /// Its stream there, once it is open.
    var stream: (any Channel)?
    var number: UInt32 = 0
    private(set) var isSettled = false

    init(_ call: Call, _ promise: EventLoopPromise<Result<CallAnswer, BroadcastError>>) {
        self.call = call
        self.promise = promise
    }

    /// It leaves before this instant or not at all.
    var lastDeparture: MonotonicTime { min(call.deadline, call.leaveBy ?? call.deadline) }

    /// Whether its time is over, to leave or to be answered.
    func isLate(at now: MonotonicTime) -> Bool {
        now >= (link == nil ? lastDeparture : call.deadline)
    }

    func settle(_ result: Result<CallAnswer, BroadcastError>) {
        guard !isSettled else { return }
        isSettled = true
        timer?.cancel()
        promise.succeed(result)
    }
}
