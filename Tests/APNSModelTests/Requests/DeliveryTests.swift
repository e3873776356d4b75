import APNSModel
import Foundation
import TestSupport
import Testing

struct DeliveryTests {
    /// Apple, "Sending notification requests to APNs": every push type and its topic.
    static let topics: [(PushType, String)] = [
        (.alert, "com.acme.pizza"), (.background, "com.acme.pizza"), (.complication, "com.acme.pizza.complication"),
        (.controls, "com.acme.pizza.push-type.controls"), (.fileprovider, "com.acme.pizza.pushkit.fileprovider"),
        (.liveactivity, "com.acme.pizza.push-type.liveactivity"), (.location, "com.acme.pizza.location-query"),
        (.mdm, "com.acme.pizza"), (.pushtotalk, "com.acme.pizza.voip-ptt"), (.voip, "com.acme.pizza.voip"),
        (.widgets, "com.acme.pizza.push-type.widgets"),
    ]

    @Test(arguments: topics) func `a topic is the bundle id and its type's suffix`(type: PushType, text: String) {
        #expect(Topic(Sample.bundleID, type).text == text)
        #expect(type.maximumPayloadBytes == (type == .voip ? 5120 : 4096))
    }

    @Test func `the table of topics names every push type once`() {
        #expect(
            Self.topics.map(\.0).sorted { $0.rawValue < $1.rawValue }
                == PushType.allCases.sorted { $0.rawValue < $1.rawValue })
    }

    @Test(arguments: [
        ("com.acme.pizza", true), ("A-b.9", true), ("", false), (".com", false), ("com.", false), ("a b", false),
        ("com/acme", false), ("é", false), (String(repeating: "a", count: 155), true),
        (String(repeating: "a", count: 156), false),
    ]) func `a bundle id has letters, digits, hyphens and dots`(text: String, isGood: Bool) {
        #expect((BundleID(text) != nil) == isGood)
    }

    @Test func `a push id is written and read as a UUID`() throws {
        let seed: UInt64 = 4
        var dice = SeededDice(seed: seed)
        for _ in 0..<300 {
            let id = PushID(random: dice.next(), dice.next())
            #expect(PushID(id.description) == id, "seed \(seed)")
            #expect(PushID(id.description.uppercased()) == id)
            #expect(UUID(uuidString: id.description)?.uuidString.lowercased() == id.description)
            var bytes = Array("id:".utf8)
            id.write(to: &bytes)
            #expect(String(decoding: bytes, as: UTF8.self) == "id:\(id)")
            let characters = Array(id.description)
            #expect(characters[14] == "4" && "89ab".contains(characters[19]))
        }
    }

    @Test(arguments: [
        "", "0", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000000",
        "00000000-0000-0000-0000-00000000000g", "000000000000-0000-0000-000000000000-",
        "00000000000000000000000000000000", "00000000-0000-0000-0000-0000000000é",
    ]) func `what is no UUID is no push id`(text: String) {
        #expect(PushID(text) == nil)
    }

    @Test func `a collapse id has 1 to 64 bytes that a header can carry`() {
        #expect(CollapseID(String(repeating: "x", count: 64))?.text.count == 64)
        for text in ["", String(repeating: "x", count: 65), "a b", "é", "a\u{7F}", "a\n"] {
            #expect(CollapseID(text) == nil)
        }
    }

    @Test func `an expiration is whole seconds and 0 only when nothing is stored`() {
        #expect(PushExpiration.once.headerValue == 0)
        #expect(PushExpiration.at(UnixTime(milliseconds: 1999)).headerValue == 1)
        #expect(PushExpiration.at(UnixTime(seconds: -5)).headerValue == 1)
        #expect(PushExpiration.at(Sample.now).headerValue == Sample.now.seconds)
    }

    @Test func `a push leaves before its answer is due`() throws {
        let request = PushRequest.background(
            BackgroundPayload(), to: Sample.token("d"),
            .init(
                bundleID: Sample.bundleID, environment: .sandbox, priority: .high, expiration: .once,
                id: PushID(random: 1, 2)))
        let push = Push(request, sendBefore: .init(nanoseconds: 9), answerBy: .init(nanoseconds: 5))
        #expect(push.sendBefore == push.answerBy)
        #expect(request.priority == .low)
    }
}
