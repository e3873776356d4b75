import APNSModel
import HTTP2TestServer
import NIOCore
import NIOPosix
import Testing

@testable import APNSClient

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A machine that was suspended while something waited to be sent.
@Suite(.timeLimit(.minutes(5))) struct SuspendTests: Sending {
    @Test func `a push that waited while the machine was suspended does not leave after its lease`() async throws {
        let clock = SuspendedClock()
        // Nothing is answered, so no second stream opens before the provider token is accepted.
        try await TestServer.run(script: { _ in [] }) { server in
            let client = try APNSClient(routes: [route(server)], time: clock.time)
            let open = submit(client, [try push(1, within: 600)])
            while server.requests.isEmpty, !Task.isCancelled { await Task.yield() }
            let now = clock.time.monotonic()
            let waiting = submit(
                client,
                [Push(try Make.request(2), sendBefore: now + .seconds(30), answerBy: now + .seconds(40))])
            #expect(client.status[0].queued == 1)
            clock.suspend(for: .seconds(60))
            await waiting.wait(for: 1)
            #expect(waiting.failureCodes == [.notSentInTime])
            #expect(server.requests.count == 1 && open.each.isEmpty)
            await client.end(within: .zero)
        }
    }

    @Test func `a call that waited while the machine was suspended does not leave after its time`() async throws {
        let clock = SuspendedClock()
        try await TestServer.run(streams: 1) { request in
            request.number == 1 ? [.answer(200)] : []
        } body: { server in
            let endpoint = try APNSClient.Endpoint("https://127.0.0.1:\(server.port)")
            let pool = CallPool(
                CallPool.Settings(
                    endpoint: endpoint, trustRoots: .pem(server.authority.rootPEM), proxy: nil,
                    signer: ProviderTokenSigner(try Make.key()), time: clock.time, connectTimeout: .seconds(60),
                    idleLifetime: .seconds(600), staleSilence: .seconds(600), busySilence: .seconds(600),
                    pingTimeout: .seconds(60), dice: { 0 }),
                backoff: Backoff(first: .zero, longest: .zero), on: MultiThreadedEventLoopGroup.singleton)
            @Sendable func outcome(within limit: Duration) async -> BroadcastError.Code? {
                do throws(BroadcastError) {
                    _ = try await pool.perform(
                        Call(method: .post, path: "/1", deadline: clock.time.monotonic() + limit))
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await outcome(within: .seconds(200)) == nil)
            // The peer allows one stream, so the third call waits for the second call's stream.
            async let open = outcome(within: .seconds(50))
            while server.requests.count < 2, !Task.isCancelled { await Task.yield() }
            async let waiting = outcome(within: .seconds(55))
            while try await pool.eventLoop.submit({ pool.state.value.waiting.count }).get() == 0, !Task.isCancelled {
                await Task.yield()
            }
            clock.suspend(for: .seconds(60))
            #expect(await open == .unknownFate)
            #expect(await waiting == .notSentInTime)
            #expect(server.requests.count == 2)
            pool.stop(within: .zero)
            await pool.stopped()
        }
    }

    /// The two clocks agree on a machine that was never suspended. In a time namespace they differ.
    @Test func `the live clock counts the time for which the machine was suspended`() {
        #if canImport(Darwin)
            let clock = CLOCK_MONOTONIC_RAW
        #else
            let clock = CLOCK_BOOTTIME
        #endif
        func reading() -> MonotonicTime {
            var now = timespec()
            clock_gettime(clock, &now)
            return MonotonicTime(nanoseconds: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec))
        }
        let before = reading()
        let live = APNSClient.liveTime.monotonic()
        #expect(before <= live && live <= reading())
    }
}
