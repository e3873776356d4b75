import APNSModel
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Opens, watches and closes the connection of a `CallPool`.
extension CallPool {
    // MARK: Opening

    func dial() {
        let security: TransportSecurity
        do throws(APNSClientError) {
            // Created late, because reading the system's certificates takes some milliseconds and few clients
            // broadcast.
            if let known = state.value.security {
                security = known
            } else {
                security = try TransportSecurity(settings.trustRoots, host: settings.endpoint.host)
            }
        } catch {
            return dialFailed(error.detail)
        }
        state.value.security = security
        state.value.connection = .dialing
        let limit = TimeAmount.nanoseconds(settings.connectTimeout.wholeNanoseconds)
        let (endpoint, proxy) = (settings.endpoint, settings.proxy)
        let handshake = eventLoop.makePromise(of: Void.self)
        let connected = ClientBootstrap(group: eventLoop)
            .connectTimeout(limit)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let proxy { try pipeline.addHandler(ProxyHandler(proxy, to: endpoint, limit: limit)) }
                    try security.addHandlers(to: pipeline)
                    try pipeline.addHandler(HandshakeWatcher(handshake))
                }
            }
            .connect(host: proxy?.host ?? endpoint.host, port: proxy?.port ?? endpoint.port)
        connected.whenFailure { error in
            handshake.fail(
                proxy.map { APNSClient.ProxyError.unreachable(TransportSecurity.reason(error, "\($0)")) } ?? error)
        }
        let timer = eventLoop.scheduleTask(in: limit + limit) { handshake.fail(ChannelError.connectTimeout(limit)) }
        handshake.futureResult.and(connected).whenComplete { result in
            timer.cancel()
            switch result {
            case .success((_, let channel)): self.begin(channel)
            case .failure(let error):
                connected.whenSuccess { $0.close(promise: nil) }
                self.dialFailed(TransportSecurity.describe(error, endpoint))
            }
        }
    }

    private func begin(_ channel: any Channel) {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .maxHeaderListSize, value: ConnectionLimits.headerListBytes),
        ]
        let link: Link
        do {
            let multiplexer = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                mode: .client, connectionConfiguration: configuration, streamConfiguration: .init()
            ) { stream in
                // APNs opens no stream of its own.
                stream.close()
            }
            link = Link(channel, multiplexer, TokenUse(signer: settings.signer), now)
            let bound = NIOLoopBound(link, eventLoop: eventLoop)
            try channel.pipeline.syncOperations.addHandler(
                CallConnectionWatcher { [self] payload in heard(payload, on: bound.value) })
            channel.closeFuture.whenComplete { _ in self.closed(bound.value) }
        } catch {
            channel.close(promise: nil)
            return dialFailed("no connection to \(settings.endpoint): \(error)")
        }
        state.value.links[ObjectIdentifier(link)] = link
        state.value.connection = .ready(link)
        state.value.lastFailure = nil
        if state.value.isStopping { return close(link) }
        watchIdleness(of: link)
        advance()
    }

    private func dialFailed(_ detail: String) {
        state.value.connection = .none
        state.value.lastFailure = detail
        state.value.dialNotBefore = now + state.value.backoff.next(dice: settings.dice())
        for call in state.value.waiting where call.call.failsFast {
            call.settle(.failure(BroadcastError(.cannotConnect, detail)))
        }
        state.value.waiting.removeAll(where: \.isSettled)
        if state.value.isStopping { resumeIfStopped() }
        advance()
    }

    // MARK: Closing

    /// Stops the connection from taking further calls.
    func retire(_ link: Link) {
        guard case .ready(let current) = state.value.connection, current === link else { return }
        state.value.connection = .none
        state.value.dialNotBefore =
            link.isAccepted ? nil : now + state.value.backoff.next(dice: settings.dice())
    }

    /// Closes a retired connection if its last call has ended.
    func closeIfDone(_ link: Link) {
        if case .ready(let current) = state.value.connection, current === link, !state.value.isStopping { return }
        if link.open == 0 { close(link) }
    }

    private func close(_ link: Link) {
        link.channel.close(promise: nil)
    }

    private func closed(_ link: Link) {
        retire(link)
        state.value.links[ObjectIdentifier(link)] = nil
        link.proof?.cancel()
        link.silence?.cancel()
        resumeIfStopped()
        advance()
    }

    private func watchIdleness(of link: Link) {
        let bound = NIOLoopBound(link, eventLoop: eventLoop)
        let idleEnd = link.lastUse + settings.idleLifetime
        let rest = max(.milliseconds(1), idleEnd - now)
        eventLoop.scheduleTask(in: .nanoseconds(rest.wholeNanoseconds)) {
            let link = bound.value
            guard self.state.value.links[ObjectIdentifier(link)] != nil else { return }
            if link.open == 0, self.now >= link.lastUse + self.settings.idleLifetime { return self.close(link) }
            self.watchIdleness(of: link)
        }
    }

    // MARK: Watching

    /// Handles a frame that concerns the whole connection.
    private func heard(_ payload: HTTP2Frame.FramePayload, on link: Link) {
        link.heardAt = now
        switch payload {
        case .goAway(let last, _, _):
            link.lastStreamID = min(Int(last), link.lastStreamID ?? .max)
            retire(link)
            closeIfDone(link)
        case .settings(.settings(let list)):
            for setting in list where setting.parameter == .maxConcurrentStreams {
                link.peerLimit = Int(setting.value)
            }
        case .ping(_, ack: true):
            link.proof?.cancel()
            link.proof = nil
            link.isProven = !state.value.waiting.isEmpty
            watchSilence(of: link)
        default: return
        }
        advance()
    }

    /// Checks by a PING that the connection still works. A connection that a NAT has dropped loses what is sent.
    func prove(_ link: Link, within limit: Duration) {
        let bound = NIOLoopBound(link, eventLoop: eventLoop)
        link.proof = eventLoop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
            self.retire(bound.value)
            self.close(bound.value)
            self.advance()
        }
        let ping = HTTP2Frame(
            streamID: .rootStream, payload: .ping(HTTP2PingData(withInteger: UInt64(link.calls)), ack: false))
        link.channel.writeAndFlush(ping, promise: nil)
    }

    /// Checks the connection after silence, while calls are open on it.
    func watchSilence(of link: Link) {
        guard link.silence == nil, link.open > 0, link.proof == nil else { return }
        let bound = NIOLoopBound(link, eventLoop: eventLoop)
        let rest = max(.milliseconds(1), max(link.heardAt, link.lastUse) + settings.busySilence - now)
        link.silence = eventLoop.scheduleTask(in: .nanoseconds(rest.wholeNanoseconds)) {
            let link = bound.value
            link.silence = nil
            guard link.open > 0, link.proof == nil else { return }
            guard self.now < max(link.heardAt, link.lastUse) + self.settings.busySilence else {
                return self.prove(link, within: self.settings.pingTimeout)
            }
            self.watchSilence(of: link)
        }
    }

    // MARK: Stopping

    /// Stops the pool: takes no more calls, fails the waiting ones, and gives open ones this time to end.
    func stop(within grace: Duration) {
        eventLoop.execute {
            self.state.value.isStopping = true
            let waiting = self.state.value.waiting
            self.state.value.waiting.removeAll()
            for call in waiting { call.settle(.failure(Self.stopping)) }
            for link in self.state.value.links.values { self.closeIfDone(link) }
            self.eventLoop.scheduleTask(in: .nanoseconds(max(0, grace.wholeNanoseconds))) {
                for link in self.state.value.links.values { self.close(link) }
                self.state.value.isLate = true
                self.resumeIfStopped()
            }
            self.resumeIfStopped()
        }
    }

    /// Returns when every connection is closed after `stop`.
    func stopped() async {
        await withCheckedContinuation { continuation in
            eventLoop.execute {
                self.state.value.stopWaiters.append(continuation)
                self.resumeIfStopped()
            }
        }
    }

    private func resumeIfStopped() {
        guard state.value.isStopping, state.value.links.isEmpty else { return }
        if case .dialing = state.value.connection, !state.value.isLate { return }
        let waiters = state.value.stopWaiters
        state.value.stopWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}
