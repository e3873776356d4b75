import APNSModel
import Foundation
import JSONText
import TestSupport
import Testing

/// Properties that hold for any input (system P, row P8).
struct PropertyTests {
    private static let seed: UInt64 = 8
    private static let cases = 1000

    private func text(_ dice: inout SeededDice) -> String {
        let pieces = ["a", "é", "漢", "😀", "\"", "\\", "\n", "\u{0}", "\u{7F}", "/", "aps", "}", " "]
        return (0...dice.roll(12)).map { _ in dice.pick(pieces) }.joined()
    }

    private func object(_ dice: inout SeededDice, depth: Int = 2) -> JSONObject {
        var members = JSONObject()
        for _ in 0..<dice.roll(4) {
            members[text(&dice)] =
                switch dice.roll(depth > 0 ? 6 : 4) {
                case 0: .null
                case 1: .bool(dice.chance(50))
                case 2: .number(JSONNumber(dice.roll(1000) - 500))
                case 3: .string(text(&dice))
                case 4: .array([.string(text(&dice))])
                default: .object(object(&dice, depth: depth - 1))
                }
        }
        return members
    }

    private func alert(_ dice: inout SeededDice) -> PushAlert {
        func one(_ dice: inout SeededDice) -> PushAlert.Text {
            let words = text(&dice)
            return dice.chance(50) ? .text(words) : .localized(key: words, arguments: [text(&dice)])
        }
        return PushAlert(
            title: one(&dice), body: dice.chance(50) ? one(&dice) : nil, sound: dice.chance(50) ? text(&dice) : nil)
    }

    private func envelope(_ dice: inout SeededDice) -> PushRequest.Envelope {
        .init(
            bundleID: Sample.bundle("com.acme.app\(dice.roll(9))"), environment: dice.pick(APNSEnvironment.allCases),
            priority: dice.chance(50) ? .low : .high, expiration: .at(Sample.now), id: PushID(random: dice.next(), 1))
    }

    @Test func `topic, type and kind of token always fit each other`() throws {
        var dice = SeededDice(seed: Self.seed)
        for number in 0..<Self.cases {
            let (envelope, time) = (envelope(&dice), UnixTime(seconds: Int64(dice.roll(2_000_000_000))))
            let update = Sample.token("u\(number)", as: UpdateTokenKind.self)
            let start = Sample.token("s\(number)", as: PushToStartTokenKind.self)
            let device = Sample.token("d\(number)", as: DeviceTokenKind.self)
            let (state, alert) = (EncodedObject(object(&dice)), alert(&dice))
            let requests: [(PushRequest, String, String, String)] = [
                (
                    .start(
                        try StartPayload(
                            timestamp: time, attributesType: "T", attributes: .empty, contentState: state,
                            alert: alert),
                        to: start, envelope), "liveactivity", ".push-type.liveactivity", start.hex
                ),
                (
                    .update(try UpdatePayload(timestamp: time, contentState: state), to: update, envelope),
                    "liveactivity", ".push-type.liveactivity", update.hex
                ),
                (
                    .end(try EndPayload(timestamp: time, contentState: state), to: update, envelope),
                    "liveactivity", ".push-type.liveactivity", update.hex
                ),
                (
                    .alert(try AlertPayload(alert, data: ["own": .object(object(&dice))]), to: device, envelope),
                    "alert", "", device.hex
                ), (.background(BackgroundPayload(), to: device, envelope), "background", "", device.hex),
                (
                    .background(try BackgroundPayload(data: ["own": .object(object(&dice))]), to: device, envelope),
                    "background", "", device.hex
                ),
            ]
            for (request, type, suffix, token) in requests {
                let label: Comment = "seed \(Self.seed), case \(number), \(type)"
                #expect(request.topic.pushType.rawValue == type, label)
                #expect(request.topic.text == envelope.bundleID.text + suffix, label)
                #expect(request.destination.hex == token, label)
                // A Live Activity push goes to a token of a Live Activity; no other push does.
                let isOrdinary = if case .device = request.destination { true } else { false }
                #expect(isOrdinary == (type != "liveactivity"), label)
                #expect(request.environment == envelope.environment && request.id == envelope.id, label)
                #expect(request.payload.count <= request.topic.pushType.maximumPayloadBytes, label)
                if type == "background" { #expect(request.priority == .low, label) }
                // Only a push to a push-to-start token must not be sent twice.
                #expect(request.mayRepeat == (token != start.hex), label)
            }
        }
    }

    @Test func `a start that can be built has every required field inside aps`() throws {
        var dice = SeededDice(seed: Self.seed)
        for number in 0..<Self.cases {
            let (attributes, state, alert) = (object(&dice), object(&dice), alert(&dice))
            let payload = try StartPayload(
                timestamp: UnixTime(seconds: Int64(dice.roll(2_000_000_000))), attributesType: text(&dice),
                attributes: EncodedObject(attributes), contentState: EncodedObject(state), alert: alert,
                staleDate: dice.chance(50) ? Sample.now : nil, relevance: RelevanceScore(dice.fraction() * 1e6 - 5e5),
                input: dice.chance(50) ? .updateToken : .unspecified)
            let label: Comment = "seed \(Self.seed), case \(number)"
            let whole = try #require(
                try JSONSerialization.jsonObject(with: Data(payload.bytes)) as? [String: Any], label)
            #expect(Array(whole.keys) == ["aps"], label)
            let aps = try #require(try JSONValue(parsing: payload.bytes).object?["aps"]?.object, label)
            #expect(aps["event"] == "start" && aps["timestamp"]?.int != nil, label)
            #expect(aps["attributes-type"]?.string?.isEmpty == false, label)
            #expect(aps["attributes"] == .object(attributes) && aps["content-state"] == .object(state), label)
            #expect(aps["alert"]?.object?["title"] != nil && aps["sound"] == nil, label)
            #expect(aps["alert"]?.object?["sound"]?.string == alert.sound, label)
            #expect(aps["relevance-score"]?.double != nil, label)
        }
    }
}
