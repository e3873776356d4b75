import APNSModel
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// The calls of one key to one endpoint, over one connection. It is opened when needed and closed when idle.
///
/// Calls leave in the order of their arrival. Only one is open until APNs has accepted the provider token (Apple,
/// "Sending notification requests to APNs"), then up to `maximumOpen`. All code here runs on one event loop.
final class CallPool: Sendable {
    /// Maximum number of waiting calls.
    static let maximumWaiting = 1_000
    /// Maximum number of open calls. The peer may allow fewer.
    static let maximumOpen = 100
    /// Maximum time between two checks of a deadline. The event loop's own clock stands still while the machine is
    /// suspended.
    static let deadlineCheck = Duration.milliseconds(500)

    struct Settings: Sendable {
        let endpoint: APNSClient.Endpoint
        let trustRoots: APNSClient.TrustRoots
        let proxy: APNSClient.Proxy?
        let signer: ProviderTokenSigner
        let time: TimeSource
        let connectTimeout: Duration
        let idleLifetime: Duration
        /// Time of silence after which a connection without open calls must answer a PING before it gets one.
        let staleSilence: Duration
        /// Time of silence after which a connection with open calls must answer a PING.
        let busySilence: Duration
        /// Maximum time for the answer to that PING.
        let pingTimeout: Duration
        let dice: @Sendable () -> Double
    }

    /// A connection that takes calls, or finishes those that it took.
    final class Link {
        let channel: any Channel
        let multiplexer: NIOHTTP2Handler.StreamMultiplexer
        var tokens: TokenUse
        var authorization = ""
        /// Number of calls so far. It serves `TokenUse` as the stream id does for pushes.
        var calls: UInt32 = 0
        var open = 0
        var isAccepted = false
        var lastUse: MonotonicTime
        /// Time at which the peer last sent anything.
        var heardAt: MonotonicTime
        /// The timeout of an unanswered PING. No call is sent while it is set.
        var proof: Scheduled<Void>?
        /// `true` if the PING was answered and a call waits. The next call is sent without another PING.
        var isProven = false
        /// The timer that checks for silence while calls are open.
        var silence: Scheduled<Void>?
        /// Maximum number of open calls that the peer allows (RFC 9113 section 6.5.2).
        var peerLimit = CallPool.maximumOpen
        /// The last stream id of a GOAWAY.
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
        /// All connections that are not closed yet, including those that only finish their calls.
        var links: [ObjectIdentifier: Link] = [:]
        var security: TransportSecurity?
        var backoff: Backoff
        var dialNotBefore: MonotonicTime?
        var lastFailure: String?
        var isStopping = false
        /// `true` after the time for stopping. The pool no longer waits for a connection attempt.
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

    /// Performs a call. Returns the answer of APNs, also a refusal.
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
            // This resets the stream, and the connection closes after its last call.
            call.stream?.close(promise: nil)
        } else if let failure = state.value.lastFailure {
            call.settle(.failure(BroadcastError(.cannotConnect, failure)))
        } else {
            call.settle(.failure(BroadcastError(.notSentInTime, "the call could not be sent in time")))
        }
        state.value.waiting.removeAll { $0 === call }
    }

    /// Sends the calls that may be sent now. Opens a connection if there is none.
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
        // Nothing was sent if the stream could not be opened.
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
            // swift-nio-http2 closes the streams of a GOAWAY before it delivers the frame, so decide after that.
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
            // Our clock is ahead, so the token's `iat` lies in the future for APNs.
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

/// A call and the promise of its caller.
final class WaitingCall {
    let call: Call
    private let promise: EventLoopPromise<Result<CallAnswer, BroadcastError>>
    var timer: Scheduled<Void>?
    var refusals: UInt8 = 0
    var resent: Attempt.Resent = []
    var wasRepeated = false
    /// The connection that carries the call. `number` is the call's number there.
    var link: CallPool.Link?
    /// The stream of the call, after it has been opened.
    var stream: (any Channel)?
    var number: UInt32 = 0
    private(set) var isSettled = false

    init(_ call: Call, _ promise: EventLoopPromise<Result<CallAnswer, BroadcastError>>) {
        self.call = call
        self.promise = promise
    }

    /// The call is sent before this instant or not at all.
    var lastDeparture: MonotonicTime { min(call.deadline, call.leaveBy ?? call.deadline) }

    /// Returns `true` if the time to send the call, or to receive its answer, is over.
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
