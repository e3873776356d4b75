import APNSModel
import Foundation
import JSONText
import TestSupport
import Testing

struct BroadcastTests {
    private static let time = UnixTime(seconds: 1_763_700_000)

    static let ids: [(String, Bool)] = [
        ("dHN0LXNyY2gtY2hubA==", true), ("abcd", true), ("ab+/", true), ("abc=", true), ("ab==", true),
        (String(repeating: "a", count: 256), true), (String(repeating: "a", count: 260), false), ("", false),
        ("abc", false), ("a===", false), ("====", false), ("ab=c", false), ("ab-_", false), ("ab c", false),
        ("äbc=", false),
    ]

    @Test(arguments: ids) func `a channel's id is base64 with padding`(text: String, isGood: Bool) {
        #expect((ChannelID(text)?.text == text) == isGood)
    }

    private func channel(_ policy: MessageStoragePolicy) throws -> BroadcastChannel {
        BroadcastChannel(
            id: try #require(ChannelID("abcd")), bundleID: Sample.bundleID, environment: .sandbox, policy: policy)
    }

    @Test func `a broadcast has the body of an update or an end, and up to 5,120 bytes`() throws {
        let state = EncodedObject(["step": 1])
        let update = try BroadcastPayload.update(timestamp: Self.time, contentState: state)
        #expect(update.bytes == (try UpdatePayload(timestamp: Self.time, contentState: state).bytes))
        let end = try BroadcastPayload.end(timestamp: Self.time, contentState: state, dismissal: .immediate)
        #expect(
            end.bytes == (try EndPayload(timestamp: Self.time, contentState: state, dismissal: .immediate).bytes))
        func large(_ filler: Int) throws -> BroadcastPayload {
            try .update(
                timestamp: Self.time,
                contentState: EncodedObject(["x": .string(String(repeating: "y", count: filler))]))
        }
        let filler = 5_120 - (try large(0)).bytes.count
        #expect(try large(filler).bytes.count == 5_120)
        #expect(throws: PayloadError.self) { try large(filler + 1) }
    }

    @Test func `an expiration is 0 unless the channel keeps messages`() throws {
        let payload = try BroadcastPayload.end(timestamp: Self.time, contentState: nil)
        #expect(try BroadcastRequest(payload, to: channel(.none)).expirationValue == 0)
        #expect(try BroadcastRequest(payload, to: channel(.mostRecent)).expirationValue == 0)
        #expect(
            try BroadcastRequest(payload, to: channel(.mostRecent), storedUntil: Self.time).expirationValue
                == 1_763_700_000)
        #expect(throws: BroadcastRequestError.channelStoresNothing) {
            try BroadcastRequest(payload, to: channel(.none), storedUntil: Self.time)
        }
    }

    @Test func `reasons are read in every spelling, and the unknown ones are kept`() {
        for reason in BroadcastReason.Known.allCases {
            #expect(BroadcastReason(reason.rawValue) == .known(reason))
            #expect((400...599).contains(reason.status))
        }
        #expect(BroadcastReason("Service Unavailable") == .known(.serviceUnavailable))
        #expect(BroadcastReason("BadEnvironmentKeyInToken") == .known(.badEnvironmentKeyIdInToken))
        #expect(BroadcastReason("Brandnew") == .unknown("Brandnew"))
    }

    static let errors: [(BroadcastError.Code, isGone: Bool, mayRetry: Bool, mayHaveHappened: Bool)] = [
        (.refused(status: 400, reason: .known(.channelNotRegistered)), true, false, false),
        (.refused(status: 400, reason: .known(.cannotCreateChannelConfig)), false, false, false),
        (.refused(status: 429, reason: .known(.tooManyRequests)), false, true, false),
        (.refused(status: 503, reason: nil), false, true, false), (.cannotConnect, false, true, false),
        (.unexpectedAnswer(status: 201), false, false, true), (.unknownFate, false, false, true),
        (.notConfigured, false, false, false), (.overloaded, false, true, false),
    ]

    @Test(arguments: errors) func `an error says what may be done about it`(
        code: BroadcastError.Code, isGone: Bool, mayRetry: Bool, mayHaveHappened: Bool
    ) {
        let error = BroadcastError(code, "detail")
        #expect(error.isChannelGone == isGone)
        #expect(error.mayRetryLater == mayRetry)
        #expect(error.mayHaveHappened == mayHaveHappened)
    }

    @Test func `a broadcast prints without its payload`() throws {
        let payload = try BroadcastPayload.update(
            timestamp: Self.time, contentState: EncodedObject(["secret": "hidden"]))
        let request = try BroadcastRequest(payload, to: channel(.none))
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request) \(String(reflecting: request)) \(dumped)".contains("hidden"))
    }
}
