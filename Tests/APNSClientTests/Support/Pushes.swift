import APNSClient
import APNSModel
import Crypto
import JSONText

/// Makes pushes and keys for tests.
enum Make {
    static func time(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: Int64(seconds * 1_000_000_000))
    }

    static func key(keyID: String = "ABC123DEFG") throws -> ProviderKey {
        try ProviderKey(
            keyID: keyID, teamID: "XYZ987MNOP", p8: P256.Signing.PrivateKey().pemRepresentation)
    }

    static func bundleID(_ text: String = "com.example.pizza") throws -> BundleID {
        guard let id = BundleID(text) else { throw Missing() }
        return id
    }

    static func request(
        _ number: Int = 1, bundleID: String = "com.example.pizza", priority: PushPriority = .high,
        collapseID: String? = nil, expiration: PushExpiration = .at(UnixTime(seconds: 1_800_000_000)),
        fill: Int = 10, tokenLength: Int = 64
    ) throws -> PushRequest {
        let digits = String(number, radix: 16)
        let hex = String(repeating: "0", count: tokenLength - digits.count) + digits
        let envelope = PushRequest.Envelope(
            bundleID: try Self.bundleID(bundleID), environment: .sandbox, priority: priority, expiration: expiration,
            collapseID: collapseID.flatMap(CollapseID.init), id: PushID(high: 0x1234, low: UInt64(number)))
        let state: JSONObject = ["fill": .string(String(repeating: "x", count: fill))]
        let payload = try UpdatePayload(
            timestamp: UnixTime(seconds: 1_763_700_000), contentState: EncodedObject(state))
        return .update(payload, to: try UpdateToken(hex: hex), envelope)
    }

    static func push(
        _ number: Int = 1, priority: PushPriority = .high, fill: Int = 10, sendBefore: MonotonicTime = Make.time(1_000),
        answerBy: MonotonicTime = Make.time(1_000)
    ) throws -> Push {
        Push(try request(number, priority: priority, fill: fill), sendBefore: sendBefore, answerBy: answerBy)
    }

    struct Missing: Error {}
}
