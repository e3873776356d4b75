import APNSModel
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// Drives one `ConnectionMachine` on its channel, directly above TLS, with one flush per event.
///
/// A handler is used once: it connects, serves, ends, and reports its end to the owner exactly once. All code here runs
/// on the event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Maximum size of a TLS record (RFC 8446 section 5.1). Each written buffer becomes records of its own.
    private static let recordSize = 16_384
    private static let tick = TimeAmount.milliseconds(50)

    private enum Stage {
        case connecting, handshaking(until: MonotonicTime), serving, ended
    }

    private let id: PoolMachine.ConnectionID
    private let context: ConnectionContext
    private let owner: any ConnectionOwner
    private var stage = Stage.connecting
    private var channelContext: ChannelHandlerContext?
    private var timer: RepeatedTask?
    private var machine: ConnectionMachine
    private var tokens: TokenUse
    private var tellsRetirement = true
    private var isReady = false
    /// `true` if the pool knows that this connection accepts no push at present.
    private var toldFull = false
    /// Time since which the peer has not read waiting bytes, or `nil`.
    private var unwritableSince: MonotonicTime?
    private var batch: [Attempt] = []
    private var settled: [Settlement] = []
    private var clockSkew: Duration?
    private var lastDate: UnixTime?

    init(id: PoolMachine.ConnectionID, _ context: ConnectionContext, owner: any ConnectionOwner) {
        self.id = id
        self.context = context
        self.owner = owner
        machine = ConnectionMachine(
            authority: context.endpoint.authority, limits: context.limits, now: context.time.monotonic())
        tokens = TokenUse(signer: context.signer)
    }

    // MARK: Requests of the pool

    /// Fetches pushes, because the queue is no longer empty.
    func wake() {
        toldFull = false
        update(context.time.monotonic())
    }

    /// Stops the connection from taking pushes. It ends after its last stream.
    func drain() {
        machine.beginDraining()
        update(context.time.monotonic())
    }

    /// Ends the connection now. Its open pushes get no answer.
    func close(_ end: ConnectionEnd) {
        machine.close(end)
        update(context.time.monotonic())
    }

    // MARK: Events of the channel

    func channelActive(context channelContext: ChannelHandlerContext) {
        self.channelContext = channelContext
        guard !machine.isClosed else { return channelContext.close(promise: nil) }
        stage = .handshaking(until: context.time.monotonic() + context.connectTimeout)
        let bound = NIOLoopBound(self, eventLoop: channelContext.eventLoop)
        timer = channelContext.eventLoop.scheduleRepeatedTask(initialDelay: Self.tick, delay: Self.tick) { _ in
            bound.value.timePassed()
        }
        channelContext.fireChannelActive()
    }

    func userInboundEventTriggered(context channelContext: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted(let negotiated) = event {
            if negotiated == "h2" {
                let now = context.time.monotonic()
                stage = .serving
                machine.begin(at: now)
                update(now)
            } else {
                close(.failed("TLS: \(context.endpoint) does not speak HTTP/2 (it did not agree to ALPN h2)"))
            }
        }
        channelContext.fireUserInboundEventTriggered(event)
    }

    func channelRead(context channelContext: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        machine.receive(&bytes, at: context.time.monotonic())
    }

    func channelReadComplete(context channelContext: ChannelHandlerContext) {
        update(context.time.monotonic())
        channelContext.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context channelContext: ChannelHandlerContext) {
        let now = context.time.monotonic()
        if channelContext.channel.isWritable {
            unwritableSince = nil
            update(now)
        } else {
            unwritableSince = now
        }
        channelContext.fireChannelWritabilityChanged()
    }

    func errorCaught(context channelContext: ChannelHandlerContext, error: any Error) {
        if let error = error as? APNSClient.ProxyError {
            close(.proxy(error))
        } else if case NIOSSLError.uncleanShutdown = error, case .serving = stage {
            close(.closedByPeer)
        } else if case .serving = stage {
            close(.failed("the connection to \(context.endpoint) was lost: \(error)"))
        } else {
            close(.failed(TransportSecurity.describe(error, context.endpoint)))
        }
    }

    func channelInactive(context channelContext: ChannelHandlerContext) {
        if case .handshaking = stage {
            close(.failed("TLS: \(context.endpoint) closed the connection during the handshake"))
        } else {
            close(.closedByPeer)
        }
        self.channelContext = nil
        channelContext.fireChannelInactive()
    }

    /// Ends the connection because TCP could not connect.
    func connectFailed(_ error: any Error) {
        if let proxy = context.proxy {
            close(.proxy(.unreachable(TransportSecurity.reason(error, "\(proxy)"))))
        } else {
            close(.failed(TransportSecurity.describe(error, context.endpoint)))
        }
    }

    private func timePassed() {
        let now = context.time.monotonic()
        if case .handshaking(let until) = stage {
            if now >= until { close(.failed("TLS: the handshake with \(context.endpoint) took too long")) }
            return
        }
        if let unwritableSince, now - unwritableSince >= context.writeTimeout { return close(.writeTimedOut) }
        machine.tick(now)
        report()
        update(now)
    }

    // MARK: Updates

    /// Performs what the machine asks for after any event.
    private func update(_ now: MonotonicTime) {
        if case .ended = stage { return }
        tellRoom(now)
        deliver(now)
        if case .open = machine.phase, !isReady {
            isReady = true
            toldFull = false
            report()
            owner.connectionIsReady(id)
        }
        if machine.phase == .draining, tellsRetirement {
            tellsRetirement = false
            logGoAway()
            owner.connectionRetires(id, wasUseful: machine.tokenWasAccepted)
        }
        send(now)
        flush()
        guard case .closed(let end) = machine.phase else { return }
        deliver(now)
        finish(end)
    }

    /// Fetches and writes pushes while the peer and the socket accept them. Tells the pool when they stop accepting.
    private func send(_ now: MonotonicTime) {
        while case .serving = stage, machine.phase == .open, let channelContext {
            var allowance = machine.allowance(at: now)
            if !channelContext.channel.isWritable { allowance = .init(streams: 0, bytes: 0, isHeld: true) }
            if allowance.streams == 0, toldFull { return }
            batch.removeAll(keepingCapacity: true)
            owner.pull(id, allowance, now: now, into: &batch)
            toldFull = batch.count == allowance.streams
            guard !batch.isEmpty else { return }
            if machine.isStale(at: now) {
                // The pushes return to their places until the idle connection has proved that it still works.
                machine.prove(at: now)
                flush()
                owner.requeue(batch)
                continue
            }
            guard useToken(now) else { return }
            let opened = machine.open(batch)
            for attempt in batch[..<opened] { attempt.wasSent(at: now) }
            if opened < batch.count { owner.requeue(Array(batch[opened...])) }
            flush()
            if batch.count < min(allowance.streams, PoolMachine.batchSize) { return }
        }
    }

    private func useToken(_ now: MonotonicTime) -> Bool {
        do {
            if let token = try tokens.token(wall: context.time.wall(), now, nextStreamID: machine.nextStreamID) {
                machine.use(token)
                owner.connectionRenewedToken(id, issuedAt: token.issuedAt)
            }
            return true
        } catch {
            for attempt in batch { attempt.fail(.notConfigured, error.description) }
            return false
        }
    }

    private func flush() {
        guard machine.output.readableBytes > 0, let channelContext else { return }
        if case .serving = stage {
            while let record = machine.output.readSlice(length: min(Self.recordSize, machine.output.readableBytes)),
                record.readableBytes > 0
            {
                channelContext.write(wrapOutboundOut(record), promise: nil)
            }
            channelContext.flush()
            machine.output.clear()
        }
    }

    /// Tells the pool that the answers to be delivered make room, which `send` fills afterwards.
    ///
    /// A caller that sends its next push at once from another thread then need not wake this connection.
    private func tellRoom(_ now: MonotonicTime) {
        guard !machine.settlements.isEmpty, machine.allowance(at: now).streams > 0 else { return }
        toldFull = false
        owner.connectionHasRoom(id)
    }

    private func deliver(_ now: MonotonicTime) {
        guard !machine.settlements.isEmpty else { return }
        // The arrays are swapped, so neither is allocated again.
        var told: [Settlement] = []
        swap(&told, &settled)
        swap(&told, &machine.settlements)
        var again: [Attempt] = []
        for index in told.indices {
            if case .answered(let answer) = told[index].outcome {
                if let date = answer.date, date != lastDate { noteDate(date) }
                // Nearly all answers have status 200 and need no decision.
                if answer.status == 200 {
                    told[index].attempt.complete(.success(answer))
                    continue
                }
            }
            let settlement = told[index]
            let resend = Resend(settlement, now: now, clockSkew: clockSkew)
            apply(resend.effect, settlement.streamID, now)
            switch resend.fate {
            case .complete(let result): settlement.attempt.complete(result)
            case .again(let attempt): again.append(attempt)
            }
        }
        told.removeAll(keepingCapacity: true)
        swap(&told, &settled)
        if !again.isEmpty { retireThenRequeue(again) }
    }

    /// Compares APNs's clock with the local one. The date changes once a second, and is compared when it does.
    private func noteDate(_ date: UnixTime) {
        lastDate = date
        context.dateReceived?(date)
        let isFirst = clockSkew == nil
        clockSkew = date - UnixTime(seconds: context.time.wall().seconds)
        // A caller that has the first answer then also finds the clock skew in the status.
        if isFirst { report() }
    }

    private func retireThenRequeue(_ attempts: [Attempt]) {
        // Retire first, so that this connection is not woken for pushes that it must not send.
        if machine.phase == .draining, tellsRetirement {
            tellsRetirement = false
            logGoAway()
            owner.connectionRetires(id, wasUseful: machine.tokenWasAccepted)
        }
        owner.requeue(attempts)
    }

    private func follow(_ renewal: TokenUse.Renewal, _ what: String) {
        switch renewal {
        case .alreadyRenewed: break
        case .renewed: log("APNs called the provider token \(what): signing a new one", clockOffset: true)
        case .needsNewConnection:
            log("APNs called a young provider token \(what): signing a new one for a new connection", clockOffset: true)
            machine.beginDraining()
        }
    }

    private func apply(_ effect: Resend.Effect, _ streamID: UInt32, _ now: MonotonicTime) {
        switch effect {
        case .none: break
        case .replace: machine.beginDraining()
        case .renewToken(let date):
            follow(tokens.expired(streamID, apnsDate: date, wall: context.time.wall(), now), "expired")
        case .correctToken(let date):
            follow(tokens.cameFromFuture(streamID, apnsDate: date, wall: context.time.wall(), now), "invalid")
        case .keepToken:
            machine.pause(until: tokens.changeRefused(now, dice: context.dice()))
            log("APNs asked for fewer changes of the provider token: pausing")
        }
    }

    private func finish(_ end: ConnectionEnd) {
        stage = .ended
        timer?.cancel()
        timer = nil
        channelContext?.close(promise: nil)
        channelContext = nil
        log("connection ended: \(end.text)")
        owner.connectionEnded(id, end, wasUseful: machine.tokenWasAccepted)
    }

    private func report() {
        owner.connectionReports(
            id,
            APNSClient.ConnectionStatus(
                number: id, isDraining: machine.phase == .draining, openStreams: machine.openStreams,
                maximumStreams: machine.streamLimit, tokenIssuedAt: tokens.issuedAt, clockSkew: clockSkew))
    }

    private func logGoAway() {
        guard let goAway = machine.goAway else { return log("connection retires") }
        log("the peer closes the connection: \(goAway.code), \(goAway.reason?.text ?? "no reason")")
    }

    private func log(_ event: String, clockOffset: Bool = false) {
        context.logger.debug(
            "APNs connection",
            metadata: [
                "event": "\(event)", "connection": "\(id)", "endpoint": "\(context.endpoint)",
                "clockSkew": "\(clockOffset ? tokens.clockOffset.description : clockSkew?.description ?? "unknown")",
            ])
    }
}
