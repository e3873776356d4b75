import APNSModel
import IsletBasics
import NIOCore
import NIOHPACK
import Testing

@testable import APNSClient

@Suite struct HeaderBlockTests {
    private func expected(_ request: PushRequest, _ token: String) -> [String] {
        var fields = [
            ":method: POST", ":scheme: https", ":authority: api.push.apple.com",
            ":path: /3/device/\(request.destination.hex)", "authorization: bearer \(token)",
            "apns-topic: \(request.topic)", "apns-push-type: \(request.topic.pushType.rawValue)",
            "apns-priority: \(request.priority.rawValue)", "apns-id: \(request.id)",
        ]
        if let seconds = request.expiration.headerValue { fields.append("apns-expiration: \(seconds)") }
        if let collapseID = request.collapseID { fields.append("apns-collapse-id: \(collapseID)") }
        return fields
    }

    private func attempt(_ request: PushRequest) -> Attempt {
        Attempt(Push(request, sendBefore: Make.time(1), answerBy: Make.time(1)))
    }

    private func decode(_ block: [UInt8], _ decoder: inout HPACKDecoder) throws -> [String] {
        var block = ByteBuffer(bytes: block)
        return try decoder.decodeHeaders(from: &block).map { "\($0.name): \($0.value)" }
    }

    /// Returns a push of one of the types that share the app's own topic, or an update.
    private func request(
        _ number: Int, _ bundleID: String, _ dice: inout SplitMix64
    ) throws -> PushRequest {
        let priority: PushPriority = Bool.random(using: &dice) ? .low : .high
        let collapseID = Int.random(in: 0..<4, using: &dice) == 0 ? "order-\(number)" : nil
        let expirations: [PushExpiration] = [.once, .unspecified, .at(UnixTime(seconds: 1_800_000_000))]
        let expiration = expirations.randomElement(using: &dice) ?? .once
        let length = [64, 64, 64, 32, 160, 512].randomElement(using: &dice) ?? 64
        let update = try Make.request(
            number, bundleID: bundleID, priority: priority, collapseID: collapseID, expiration: expiration,
            fill: Int.random(in: 0..<300, using: &dice), tokenLength: length)
        let envelope = PushRequest.Envelope(
            bundleID: try Make.bundleID(bundleID), environment: .sandbox, priority: priority, expiration: expiration,
            collapseID: update.collapseID, id: PushID(high: dice.next(), low: dice.next()))
        switch Int.random(in: 0..<4, using: &dice) {
        case 0:
            return .background(BackgroundPayload(), to: try DeviceToken(hex: update.destination.hex), envelope)
        case 1:
            let content = NotificationContent(title: .text("Ready"), body: .text("Your order waits"))
            return .alert(try AlertPayload(content), to: try DeviceToken(hex: update.destination.hex), envelope)
        default: return update
        }
    }

    @Test(arguments: 0..<100)
    func `another decoder reads exactly the headers and the body of every push`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var writer = HeaderBlockWriter(authority: "api.push.apple.com")
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        var token = "token-0"
        writer.use(token)
        let topics = Int.random(in: 1...(Bool.random(using: &dice) ? 2 : 120), using: &dice)
        var output = ByteBuffer()
        for number in 1...200 {
            switch Int.random(in: 0..<40, using: &dice) {
            case 0:
                token = "token-\(number)" + String(repeating: "j", count: Int.random(in: 0..<300, using: &dice))
                writer.use(token)
            case 1:
                let size = [0, 50, 300, 4_096, 65_536].randomElement(using: &dice) ?? 0
                writer.setPeerLimit(size)
                // The peer's decoder takes the size that its SETTINGS named.
                decoder.maxDynamicTableLength = min(size, 4_096)
            default: break
            }
            let app = "com.example.app\(Int.random(in: 0..<topics, using: &dice))"
            let request = try request(number, app, &dice)
            let (id, withBody) = (UInt32(number) * 2 - 1, Int.random(in: 0..<5, using: &dice) > 0)
            // Bytes that wait to leave do not change.
            let before = output
            writer.write(attempt(request), streamID: id, withBody: withBody, to: &output)
            #expect(output.readSlice(length: before.readableBytes) == before)
            let headers = try #require(frame(&output))
            #expect(
                headers.header
                    == FrameHeader(
                        length: headers.content.count, type: FrameType.headers, flags: FrameFlag.endHeaders,
                        streamID: id))
            #expect(try decode(headers.content, &decoder) == expected(request, token), "seed \(seed), push \(number)")
            if withBody {
                let data = try #require(frame(&output))
                #expect(
                    data.header
                        == FrameHeader(
                            length: request.payload.count, type: FrameType.data, flags: FrameFlag.endStream,
                            streamID: id))
                #expect(data.content == request.payload)
            }
            #expect(output.readableBytes == 0)
            if Bool.random(using: &dice) { output.writeString("waits") } else { output.clear() }
        }
    }

    private func frame(_ bytes: inout ByteBuffer) -> (header: FrameHeader, content: [UInt8])? {
        guard let header = FrameHeader.peek(bytes) else { return nil }
        bytes.moveReaderIndex(forwardBy: FrameHeader.size)
        return bytes.readBytes(length: header.length).map { (header, $0) }
    }

    @Test func `pushes of one topic keep their types`() throws {
        var writer = HeaderBlockWriter(authority: "api.push.apple.com")
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        writer.use("token")
        let envelope = PushRequest.Envelope(
            bundleID: try Make.bundleID(), environment: .sandbox, priority: .low, expiration: .once,
            id: PushID(high: 1, low: 2))
        let device = try DeviceToken(hex: String(repeating: "ab", count: 32))
        let content = NotificationContent(title: .text("Ready"), body: .text("Your order waits"))
        let alert = PushRequest.alert(try AlertPayload(content), to: device, envelope)
        let background = PushRequest.background(BackgroundPayload(), to: device, envelope)
        #expect(alert.topic.text == background.topic.text)
        for request in [alert, alert, background, alert, background, background, alert] {
            var output = ByteBuffer()
            writer.write(attempt(request), streamID: 1, withBody: false, to: &output)
            let headers = try #require(frame(&output))
            #expect(try decode(headers.content, &decoder) == expected(request, "token"))
        }
    }

    @Test(arguments: [0, 1, 0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, .max] as [UInt64])
    func `an id is written as its text`(word: UInt64) {
        for id in [PushID(high: word, low: ~word), PushID(high: ~word, low: word)] {
            var bytes = [UInt8](repeating: 0, count: PushID.textLength)
            bytes.withUnsafeMutableBytes { id.write(to: $0) }
            #expect(String(decoding: bytes, as: UTF8.self) == id.description)
        }
    }

    @Test func `what repeats is sent once, and the path is never indexed`() throws {
        var writer = HeaderBlockWriter(authority: "api.push.apple.com")
        writer.use(String(repeating: "j", count: 200))
        var sizes: [Int] = []
        for number in 1...3 {
            writer.write(attempt(try Make.request(number)))
            sizes.append(writer.block.count)
        }
        #expect(sizes[0] > 400)
        // :method :scheme :authority, then the path (2 + 74), four indices, apns-id (46), apns-expiration (28).
        #expect(sizes[1] == 3 + 76 + 4 + 46 + 28)
        #expect(sizes[2] == sizes[1])
        #expect(writer.block.prefix(4).elementsEqual([0x83, 0x87, 0x80 | 66, 0x14]))
    }
}
