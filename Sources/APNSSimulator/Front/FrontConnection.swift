internal import APNSModel
internal import Foundation
internal import JSONText
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOSSL

/// A command from outside the connection.
enum FrontCommand: Sendable {
    /// Sends GOAWAY. Without a last stream, every push that arrived is answered first.
    case goAway(reason: String, last: Int?)
    case limitStreams(Int)
    case abort
}

/// The handler of one HTTP/2 connection, by frames. It decides the number of streams, when GOAWAY is sent, and what is
/// reset.
final class FrontConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    struct Settings: Sendable {
        var environment: APNSEnvironment
        /// Number of streams after the first valid provider token. Before it there is one.
        var streams: Int
        /// `true` if a 4xx other than 410 limits the connection to one stream until the next success.
        var punishesErrors: Bool
        /// `true` if the port is that of channel management.
        var isManagement = false
    }

    private struct Request {
        var headers: HPACKHeaders
        var body = ByteBuffer()
        var bodyBytes = 0
    }

    /// A parsed body.
    private struct ReadBody {
        let bytes: ByteBuffer
        let object: JSONObject?
        let stateDigest: ContentDigest?

        init(_ bytes: ByteBuffer) {
            self.bytes = bytes
            object = try? JSONValue(parsing: bytes.readableBytesView).object
            stateDigest = (object?["aps"]?.object?["content-state"]?.object).map { ContentDigest($0) }
        }
    }

    private let engine: Engine
    private let settings: Settings
    private var session = ProviderSession()
    private var requests: [HTTP2StreamID: Request] = [:]
    private var unanswered: Set<HTTP2StreamID> = []
    private var streams = 1
    private var hasRaisedStreams = false
    private var unacknowledged = 0
    private var lastBody: ReadBody?
    private var lastStreamID: HTTP2StreamID?
    private var date: (seconds: Int64, text: String) = (-1, "")

    /// Maximum number of body bytes that are kept. Further bytes are only counted, because the body is too large
    /// already.
    private static let keptBytes = 5120
    /// Size of a body that is answered before the body ends.
    private static let toleratedBytes = 60 * 1024
    /// Used part of the connection's window after which the window is opened again.
    private static let windowStep = 32 * 1024

    init(engine: Engine, settings: Settings) {
        self.engine = engine
        self.settings = settings
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): readHeaders(headers, frame.streamID, context)
        case .data(let data): readData(data, frame.streamID, context)
        case .rstStream: forget(frame.streamID, context)
        case .priority, .settings, .pushPromise, .ping, .goAway, .windowUpdate, .alternativeService, .origin: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let closed = event as? StreamClosedEvent { forget(closed.streamID, context) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Closes the connection after a protocol error or a disconnect. The handler below has sent GOAWAY already.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamError || error is NIOHTTP2Errors.NoSuchStream { return }
        // After our GOAWAY the peer's earlier frames still arrive (RFC 9113 section 6.8). The handler below answers
        // DATA among them with its own GOAWAY, and then reports that one as raised.
        if error is NIOHTTP2Errors.RaisedGoawayLastStreamID, lastStreamID != nil { return }
        context.close(promise: nil)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let command = event as? FrontCommand else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        switch command {
        case .goAway(let reason, let chosen):
            let last = chosen.map { HTTP2StreamID($0) } ?? unanswered.max() ?? requests.keys.max() ?? .rootStream
            sendGoAway(reason: reason, last: last, context)
        case .limitStreams(let count):
            hasRaisedStreams = true
            setStreams(count, context)
        case .abort: abort(context)
        }
        context.flush()
        promise?.succeed()
    }

    private func readHeaders(
        _ frame: HTTP2Frame.FramePayload.Headers, _ stream: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        if let lastStreamID, stream > lastStreamID { return }
        if requests[stream] == nil {
            requests[stream] = Request(headers: frame.headers)
            unanswered.insert(stream)
        }
        // Trailers end a request too. APNs knows none.
        if frame.endStream { finish(stream, context) }
    }

    private func readData(
        _ frame: HTTP2Frame.FramePayload.Data, _ stream: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        guard case .byteBuffer(var bytes) = frame.data else { return }
        unacknowledged += bytes.readableBytes + (frame.paddingBytes ?? 0)
        if unacknowledged >= Self.windowStep {
            write(.windowUpdate(windowSizeIncrement: unacknowledged), on: .rootStream, context)
            unacknowledged = 0
        }
        guard requests[stream] != nil else { return }
        requests[stream]?.bodyBytes += bytes.readableBytes
        if (requests[stream]?.bodyBytes ?? 0) <= Self.keptBytes { requests[stream]?.body.writeBuffer(&bytes) }
        if frame.endStream {
            finish(stream, context)
        } else if (requests[stream]?.bodyBytes ?? 0) > Self.toleratedBytes {
            finish(stream, context)
            // A reset would discard what is not written yet.
            context.flush()
            // RFC 9113 section 8.1: the answer is complete, and the rest of the request is not needed.
            write(.rstStream(.noError), on: stream, context)
        }
    }

    private func finish(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        var arrival = PushArrival(headers: request.headers, environment: settings.environment)
        arrival.streamID = Int(stream)
        arrival.isManagement = settings.isManagement
        arrival.bodyBytes = request.bodyBytes
        if request.bodyBytes > 0, request.bodyBytes <= Self.keptBytes {
            // One change goes to many phones with the same bytes, so the last parsed body is reused.
            let body = lastBody?.bytes == request.body ? lastBody : ReadBody(request.body)
            lastBody = body
            (arrival.body, arrival.stateDigest) = (body?.object, body?.stateDigest)
        }
        let decision = engine.accept(arrival, session: &session)
        carryOut(decision, on: stream, context)
    }

    // MARK: Out

    private func carryOut(_ decision: FrontDecision, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        if let goAway = decision.goAway {
            sendGoAway(reason: goAway.reason, last: HTTP2StreamID(goAway.lastStreamID), context)
        }
        adaptStreams(to: decision, context)
        switch decision.way {
        case .answer: send(decision.answer, on: stream, context)
        case .answerLater(let delay):
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: TimeAmount(delay)) {
                let (connection, context) = bound.value
                guard context.channel.isActive else { return }
                connection.send(decision.answer, on: stream, context)
                context.flush()
            }
        case .refuseStream:
            write(.rstStream(.refusedStream), on: stream, context)
            forget(stream, context)
        case .resetStream:
            write(.rstStream(.internalError), on: stream, context)
            forget(stream, context)
        case .close: context.close(promise: nil)
        case .abort: abort(context)
        case .silence: if let lastStreamID, stream > lastStreamID { forget(stream, context) }
        }
    }

    private func adaptStreams(to decision: FrontDecision, _ context: ChannelHandlerContext) {
        var wanted = streams
        if let limit = decision.streams {
            wanted = limit
        } else if let status = decision.answer?.status, settings.punishesErrors, session.isAuthenticated {
            if (200..<300).contains(status) { wanted = settings.streams }
            if (400..<500).contains(status), status != 410 { wanted = 1 }
        }
        if streams == 1, !hasRaisedStreams, session.isAuthenticated, decision.streams == nil {
            hasRaisedStreams = true
            wanted = settings.streams
        }
        setStreams(wanted, context)
    }

    private func setStreams(_ count: Int, _ context: ChannelHandlerContext) {
        guard count != streams else { return }
        streams = count
        write(
            .settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: count)])), on: .rootStream,
            context)
    }

    private func abort(_ context: ChannelHandlerContext) {
        // A socket with a linger time of 0 closes with RST. Closing the socket bypasses TLS, which would send a close
        // notification first.
        if let socket = context.channel as? any SocketOptionProvider {
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenFailure { _ in }
        }
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (tls ?? context).close(promise: nil)
    }

    private func send(_ answer: FrontAnswer?, on stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard let answer, unanswered.contains(stream) else { return }
        var headers = HPACKHeaders([(":status", String(answer.status))])
        // Values that never repeat would only fill the peer's table. Searching ours costs a quarter of a push.
        if let id = answer.id { headers.add(name: "apns-id", value: id.description, indexing: .nonIndexable) }
        if let uniqueID = answer.uniqueID {
            headers.add(name: "apns-unique-id", value: uniqueID.description, indexing: .nonIndexable)
        }
        if let id = answer.requestID {
            headers.add(name: "apns-request-id", value: id.description, indexing: .nonIndexable)
        }
        if let id = answer.channelID { headers.add(name: "apns-channel-id", value: id, indexing: .nonIndexable) }
        if let time = answer.date {
            if date.seconds != time.seconds { date = (time.seconds, time.httpDate) }
            headers.add(name: "date", value: date.text)
        }
        let body = answer.body
        if !body.isEmpty { headers.add(name: "content-type", value: "application/json") }
        // Without a body the stream ends on HEADERS. An empty DATA frame after them breaks clients that are made for
        // APNs.
        write(.headers(.init(headers: headers, endStream: body.isEmpty)), on: stream, context)
        if !body.isEmpty {
            let bytes = context.channel.allocator.buffer(bytes: body)
            write(.data(.init(data: .byteBuffer(bytes), endStream: true)), on: stream, context)
        }
        forget(stream, context)
    }

    private func sendGoAway(reason: String, last: HTTP2StreamID, _ context: ChannelHandlerContext) {
        // A second GOAWAY may only lower the last stream (RFC 9113 section 6.8).
        if let lastStreamID, last >= lastStreamID { return }
        lastStreamID = last
        let text = context.channel.allocator.buffer(bytes: JSONValue.object(["reason": .string(reason)]).bytes)
        guard last != .maxID else { return warn(text, context) }
        write(.goAway(lastStreamID: last, errorCode: .noError, opaqueData: text), on: .rootStream, context)
        for stream in unanswered where stream > last { forget(stream, context) }
        closeWhenDone(context)
    }

    /// Writes a GOAWAY frame past the handler below. That handler would take a connection without open streams for
    /// ended, and then treat the peer's next frame, such as the acknowledgment of SETTINGS, as an error.
    private func warn(_ text: ByteBuffer, _ context: ChannelHandlerContext) {
        guard let below = try? context.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self) else {
            return
        }
        // RFC 9113 section 6.8: type 7, no flags, stream 0; last stream, error code, debug data.
        let length = UInt32(8 + text.readableBytes)
        var frame = context.channel.allocator.buffer(capacity: 9 + Int(length))
        frame.writeMultipleIntegers(length << 8 | 7, UInt8(0), UInt32(0))
        frame.writeMultipleIntegers(UInt32(Int32.max), UInt32(0))
        frame.writeImmutableBuffer(text)
        below.writeAndFlush(NIOAny(frame), promise: nil)
    }

    private func forget(_ stream: HTTP2StreamID, _ context: ChannelHandlerContext) {
        requests[stream] = nil
        if unanswered.remove(stream) != nil { closeWhenDone(context) }
    }

    /// Closes the connection after GOAWAY, once the last answer that it owes is written.
    private func closeWhenDone(_ context: ChannelHandlerContext) {
        guard let lastStreamID, lastStreamID != .maxID, unanswered.isEmpty else { return }
        context.flush()
        context.close(promise: nil)
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }
}

extension PushArrival {
    /// Parses the headers in one pass. Unknown headers are ignored.
    init(headers: HPACKHeaders, environment: APNSEnvironment) {
        self.init(environment: environment, method: "", path: "")
        for (name, value, _) in headers {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case "authorization": set(\.authorization, value)
            case "apns-topic": set(\.topic, value)
            case "apns-push-type": set(\.pushType, value)
            case "apns-priority": set(\.priority, value)
            case "apns-expiration": set(\.expiration, value)
            case "apns-id": set(\.id, value)
            case "apns-collapse-id": set(\.collapseID, value)
            case "apns-channel-id": set(\.channelID, value)
            case "apns-request-id": set(\.requestID, value)
            default: break
            }
        }
    }

    private mutating func set(_ field: WritableKeyPath<PushArrival, String?>, _ value: String) {
        if self[keyPath: field] != nil { hasDuplicates = true }
        self[keyPath: field] = value
    }
}
