import APNSModel
import Foundation
import JSONText
import TestSupport
import Testing

/// Each form of payload as Foundation reads it, against the table of Apple's page "Starting and updating Live
/// Activities with ActivityKit push notifications".
struct PayloadTests {
    static let time = UnixTime(milliseconds: 1_763_700_000_999)
    static let state = EncodedObject(["step": "cooking", "eta": 785_393_100])
    static let localized = PushAlert(
        title: .text("Order A1"), body: .localized(key: "COOKING", arguments: ["A1"]), sound: "default")

    /// Returns the members of `aps`, after checking that the payload has no other member.
    private func aps(_ bytes: [UInt8]) throws -> NSDictionary {
        let whole = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(Array(whole.keys) == ["aps"])
        return try #require(whole["aps"] as? NSDictionary)
    }

    private func expect(_ bytes: [UInt8], _ members: [String: Any], line: Int = #line) throws {
        let aps = try aps(bytes)
        #expect(aps == members as NSDictionary, "line \(line)")
    }

    @Test func `the smallest start has exactly what a start needs`() throws {
        let payload = try StartPayload(
            timestamp: Self.time, attributesType: "OrderAttributes", attributes: EncodedObject(["orderId": "A1"]),
            contentState: Self.state, alert: PushAlert(title: .text("Order")))
        try expect(
            payload.bytes,
            [
                "timestamp": 1_763_700_000, "event": "start", "attributes-type": "OrderAttributes",
                "attributes": ["orderId": "A1"], "content-state": ["step": "cooking", "eta": 785_393_100],
                "alert": ["title": "Order"],
            ])
        // An integer, not 1763700000.0 or 1.7637e9, because the device reads it as an integer.
        #expect(String(decoding: payload.bytes, as: UTF8.self).contains(#""timestamp":1763700000,"#))
    }

    @Test func `a full start carries stale date, relevance and the asked-for input`() throws {
        let payload = try StartPayload(
            timestamp: Self.time, attributesType: "OrderAttributes", attributes: .empty, contentState: Self.state,
            alert: Self.localized, staleDate: UnixTime(milliseconds: 1_763_700_900_500), relevance: RelevanceScore(75),
            input: .updateToken)
        try expect(
            payload.bytes,
            [
                "timestamp": 1_763_700_000, "event": "start", "attributes-type": "OrderAttributes",
                "attributes": [String: Any](), "content-state": ["step": "cooking", "eta": 785_393_100],
                "alert": [
                    "title": "Order A1", "body": ["loc-key": "COOKING", "loc-args": ["A1"]], "sound": "default",
                ] as [String: Any], "stale-date": 1_763_700_900, "relevance-score": 75, "input-push-token": 1,
            ])
    }

    @Test func `a start asks for a channel or a token, never both, and for neither unasked`() throws {
        func start(_ input: StartPayload.Input) throws -> NSDictionary {
            try aps(
                StartPayload(
                    timestamp: Self.time, attributesType: "T", attributes: .empty, contentState: .empty,
                    alert: Self.localized, input: input
                ).bytes)
        }
        #expect(try start(.unspecified)["input-push-token"] == nil && start(.unspecified)["input-push-channel"] == nil)
        let channel = try start(.channel(#require(ChannelID("dHN0LXNyY2gtY2hubA=="))))
        #expect(
            channel["input-push-channel"] as? String == "dHN0LXNyY2gtY2hubA==" && channel["input-push-token"] == nil)
    }

    @Test func `an update has its state, and more only when asked`() throws {
        try expect(
            UpdatePayload(timestamp: Self.time, contentState: Self.state).bytes,
            [
                "timestamp": 1_763_700_000, "event": "update",
                "content-state": ["step": "cooking", "eta": 785_393_100],
            ])
        try expect(
            UpdatePayload(
                timestamp: Self.time, contentState: Self.state, alert: Self.localized, staleDate: Self.time,
                relevance: RelevanceScore(0.5)
            ).bytes,
            [
                "timestamp": 1_763_700_000, "event": "update",
                "content-state": ["step": "cooking", "eta": 785_393_100],
                "alert": [
                    "title": "Order A1", "body": ["loc-key": "COOKING", "loc-args": ["A1"]], "sound": "default",
                ] as [String: Any], "stale-date": 1_763_700_000, "relevance-score": 0.5,
            ])
    }

    static let dismissals: [(Dismissal, Int?)] = [
        (.systemDefault, nil), (.immediate, 1_763_699_999),
        (.at(UnixTime(milliseconds: 1_763_703_600_500)), 1_763_703_600),
    ]

    @Test(arguments: dismissals) func `an end says when the card leaves`(dismissal: Dismissal, date: Int?) throws {
        var members: [String: Any] = [
            "timestamp": 1_763_700_000, "event": "end", "content-state": ["step": "cooking", "eta": 785_393_100],
        ]
        members["dismissal-date"] = date
        try expect(EndPayload(timestamp: Self.time, contentState: Self.state, dismissal: dismissal).bytes, members)
    }

    @Test func `an end without a state leaves the card as it is`() throws {
        try expect(
            EndPayload(timestamp: UnixTime(seconds: 0), contentState: nil, dismissal: .immediate).bytes,
            ["timestamp": 0, "event": "end", "dismissal-date": 0])
    }

    @Test func `an ordinary alert has flat localisation keys and its sound beside the alert`() throws {
        try expect(
            AlertPayload(
                PushAlert(
                    title: .localized(key: "T", arguments: ["a", "b"]), body: .localized(key: "B", arguments: []),
                    sound: "bell.caf")
            ).bytes,
            [
                "alert": ["title-loc-key": "T", "title-loc-args": ["a", "b"], "loc-key": "B"] as [String: Any],
                "sound": "bell.caf",
            ])
        try expect(AlertPayload(PushAlert(title: .text("T"))).bytes, ["alert": ["title": "T"]])
        try expect(BackgroundPayload().bytes, ["content-available": 1])
    }

    @Test func `a start without an alert title or a type cannot be built`() {
        for title in [PushAlert.Text.text(""), .localized(key: "", arguments: ["x"])] {
            #expect(throws: PayloadError.missingAlertTitle) {
                try StartPayload(
                    timestamp: Self.time, attributesType: "T", attributes: .empty, contentState: .empty,
                    alert: PushAlert(title: title, body: .text("b")))
            }
            #expect(throws: PayloadError.missingAlertTitle) { try AlertPayload(PushAlert(title: title)) }
        }
        #expect(throws: PayloadError.missingAttributesType) {
            try StartPayload(
                timestamp: Self.time, attributesType: "", attributes: .empty, contentState: .empty,
                alert: Self.localized)
        }
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(throws: PayloadError.badRelevanceScore) { try RelevanceScore(value) }
        }
    }

    @Test func `4,096 bytes are taken and one more is refused with the sizes of its parts`() throws {
        func state(_ filler: Int) -> EncodedObject {
            EncodedObject(["x": .string(String(repeating: "y", count: filler))])
        }
        let builders: [(EncodedObject) throws -> [UInt8]] = [
            { try UpdatePayload(timestamp: Self.time, contentState: $0, alert: Self.localized).bytes },
            { try EndPayload(timestamp: Self.time, contentState: $0, dismissal: .immediate).bytes },
            {
                try StartPayload(
                    timestamp: Self.time, attributesType: "T", attributes: .empty, contentState: $0,
                    alert: Self.localized
                ).bytes
            },
        ]
        for build in builders {
            let filler = 4096 - (try build(state(0))).count
            #expect(try build(state(filler)).count == 4096)
            let error = #expect(throws: PayloadError.self) { try build(state(filler + 1)) }
            guard case .tooLarge(let bytes, let limit, let parts)? = error else {
                Issue.record("not refused for its size: \(String(describing: error))")
                continue
            }
            #expect(bytes == 4097 && limit == 4096)
            #expect(parts.first { $0.name == "content-state" }?.bytes == filler + 9)
        }
    }
}
