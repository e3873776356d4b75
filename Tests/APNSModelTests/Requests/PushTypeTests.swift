import APNSModel
import JSONText
import TestSupport
import Testing

/// Every push type that a provider token may send, with its headers and bytes, in one table.
struct PushTypeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let request: PushRequest
        let type: String
        let suffix: String
        let priority: Int
        let expiration: Int64?
        let body: String

        var testDescription: String { "\(type) at \(request.priority)" }
    }

    /// A caller's wishes. Not every type leaves them open.
    private static func envelope(_ priority: PushPriority) -> PushRequest.Envelope {
        .init(
            bundleID: Sample.bundleID, environment: .production, priority: priority,
            expiration: .at(UnixTime(seconds: 1_800_000_000)), collapseID: CollapseID("c"), id: PushID(high: 1, low: 2))
    }

    private static func row(
        _ request: PushRequest, _ type: String, _ suffix: String, _ priority: Int,
        expiration: Int64? = 1_800_000_000, _ body: String
    ) -> Row {
        Row(
            request: request, type: type, suffix: suffix, priority: priority, expiration: expiration, body: body)
    }

    private static let time = UnixTime(seconds: 1_763_700_000)
    private static let state = EncodedObject(["step": 1])
    private static let alert = PushAlert(title: "T")
    private static let own: JSONObject = ["own": 1]

    static func rows() throws -> [Row] {
        let (high, low, lowest) = (envelope(.high), envelope(.low), envelope(.lowest))
        let start = try StartPayload(
            timestamp: time, attributesType: "A", attributes: .empty, contentState: state, alert: alert)
        let update = try UpdatePayload(timestamp: time, contentState: state)
        let end = try EndPayload(timestamp: time, contentState: nil)
        let startBody =
            #"{"aps":{"timestamp":1763700000,"event":"start","attributes-type":"A","attributes":{},"#
            + #""content-state":{"step":1},"alert":{"title":"T"}}}"#
        let updateBody = #"{"aps":{"timestamp":1763700000,"event":"update","content-state":{"step":1}}}"#
        let endBody = #"{"aps":{"timestamp":1763700000,"event":"end"}}"#
        let (activity, changed) = (".push-type.liveactivity", #"{"aps":{"content-changed":true}}"#)
        let note = try AlertPayload(alert, data: own)
        let noteBody = #"{"aps":{"alert":{"title":"T"}},"own":1}"#
        let file = try FileProviderPayload(domain: "d")
        let fileBody =
            #"{"container-identifier":"NSFileProviderWorkingSetContainerItemIdentifier","domain":"d"}"#
        let device: DeviceToken = Sample.token("device")
        return [
            row(.start(start, to: Sample.token("s"), high), "liveactivity", activity, 10, startBody),
            row(.update(update, to: Sample.token("u"), low), "liveactivity", activity, 5, updateBody),
            row(.update(update, to: Sample.token("u"), lowest), "liveactivity", activity, 5, updateBody),
            row(.end(end, to: Sample.token("u"), high), "liveactivity", activity, 10, endBody),
            row(.alert(note, to: device, high), "alert", "", 10, noteBody),
            row(.alert(note, to: device, lowest), "alert", "", 1, noteBody),
            row(
                .background(try BackgroundPayload(data: own), to: device, high), "background", "", 5,
                #"{"aps":{"content-available":1},"own":1}"#),
            row(.voip(try VoIPPayload(data: own), to: Sample.token("v"), low), "voip", ".voip", 10, #"{"own":1}"#),
            row(
                .pushToTalk(try PushToTalkPayload(data: own), to: Sample.token("p"), low), "pushtotalk", ".voip-ptt",
                10, expiration: 0, #"{"own":1}"#),
            row(
                .complication(try ComplicationPayload(data: own), to: Sample.token("c"), high), "complication",
                ".complication", 10, #"{"own":1}"#),
            row(
                .fileProvider(file, to: Sample.token("f"), low), "fileprovider", ".pushkit.fileprovider", 5, fileBody),
            row(
                .location(try LocationPayload(data: own), to: Sample.token("l"), high), "location", ".location-query",
                10, #"{"aps":{"content-available":1},"own":1}"#),
            row(.widgets(WidgetPayload(), to: Sample.token("w"), low), "widgets", ".push-type.widgets", 5, changed),
            row(
                .control(ControlPayload(), to: Sample.token("k"), high), "controls", ".push-type.controls", 10,
                changed),
        ]
    }

    @Test func `each type has its topic, its own rules for priority and expiration, and its bytes`() throws {
        let rows = try Self.rows()
        for row in rows {
            let (request, label) = (row.request, Comment(rawValue: row.testDescription))
            #expect(request.topic.pushType.rawValue == row.type, label)
            #expect(request.topic.text == Sample.bundleID.text + row.suffix, label)
            #expect(request.priority.rawValue == row.priority, label)
            #expect(request.expiration.headerValue == row.expiration, label)
            #expect(String(decoding: request.payload, as: UTF8.self) == row.body, label)
            #expect(request.destination.hex.count == 64 && request.collapseID?.text == "c", label)
            #expect(request.payload.count <= request.topic.pushType.maximumPayloadBytes, label)
        }
        let types = Set(rows.map(\.type))
        // The mdm type has a certificate's topic.
        #expect(types == Set(PushType.allCases.map(\.rawValue)).subtracting(["mdm"]))
    }

    @Test func `a token of each type names its kind, and prints masked`() throws {
        for row in try Self.rows() {
            let hex = row.request.destination.hex
            #expect(!"\(row.request.destination) \(row.request)".contains(hex))
        }
        for (name, make) in [
            ("VoIP", { _ = try VoIPToken(hex: "x") }), ("push-to-talk", { _ = try PushToTalkToken(hex: "x") }),
            ("complication", { _ = try ComplicationToken(hex: "x") }),
            ("file provider", { _ = try FileProviderToken(hex: "x") }),
            ("location", { _ = try LocationToken(hex: "x") }), ("widget", { _ = try WidgetToken(hex: "x") }),
            ("control", { _ = try ControlToken(hex: "x") }),
        ] as [(String, () throws -> Void)] {
            let error = #expect(throws: PushTokenError.self) { try make() }
            #expect(error?.description.hasPrefix("a \(name) token has") == true)
        }
    }

    @Test func `data of the app has room up to each type's limit, and no byte more`() throws {
        func data(_ filler: Int) -> JSONObject { ["x": .string(String(repeating: "y", count: filler))] }
        let makers: [(limit: Int, make: (JSONObject) throws -> [UInt8])] = [
            (5_120, { try VoIPPayload(data: $0).bytes }), (4_096, { try PushToTalkPayload(data: $0).bytes }),
            (4_096, { try ComplicationPayload(data: $0).bytes }), (4_096, { try LocationPayload(data: $0).bytes }),
            (4_096, { try AlertPayload(Self.alert, data: $0).bytes }),
            (4_096, { try BackgroundPayload(data: $0).bytes }),
        ]
        for (limit, make) in makers {
            let filler = limit - (try make(data(0))).count
            #expect(try make(data(filler)).count == limit)
            let error = #expect(throws: PayloadError.self) { try make(data(filler + 1)) }
            guard case .tooLarge(limit + 1, limit, let parts)? = error else {
                Issue.record("not refused for its size: \(String(describing: error))")
                continue
            }
            #expect(parts.contains { $0.name == "data" })
            #expect(throws: PayloadError.dataNamesAPS) { try make(["aps": 1]) }
        }
    }

    @Test func `what would be an empty payload is refused`() {
        #expect(throws: PayloadError.empty) { try VoIPPayload(data: [:]) }
        #expect(throws: PayloadError.empty) { try PushToTalkPayload(data: [:]) }
        #expect(throws: PayloadError.empty) { try ComplicationPayload(data: [:]) }
        #expect(throws: PayloadError.empty) { try FileProviderPayload(container: "") }
        #expect(throws: PayloadError.empty) { try AlertPayload(NotificationContent()) }
    }
}
