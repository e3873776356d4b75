import APNSModel
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

    @Test(arguments: 0..<100)
    func `another decoder reads exactly the headers of every push`(seed: UInt64) throws {
        var dice = SeededDice(seed)
        var writer = HeaderBlockWriter(authority: "api.push.apple.com")
        var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
        var token = "token-0"
        writer.use(token)
        let topics = Int.random(in: 1...120, using: &dice)
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
            let request = try Make.request(
                number, bundleID: "com.example.app\(Int.random(in: 0..<topics, using: &dice))",
                priority: Bool.random(using: &dice) ? .low : .high,
                collapseID: Bool.random(using: &dice) ? "order-\(number)" : nil,
                expiration: [.once, .unspecified, .at(UnixTime(seconds: 1_800_000_000))].randomElement(using: &dice)
                    ?? .once,
                tokenLength: [32, 64, 160, 512].randomElement(using: &dice) ?? 64)
            writer.write(attempt(request))
            #expect(try decode(writer.block, &decoder) == expected(request, token), "seed \(seed), push \(number)")
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
