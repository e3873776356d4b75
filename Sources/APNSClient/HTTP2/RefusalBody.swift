import APNSModel
import JSONText

/// The JSON body of a refusal: `{"reason": "…"}`, and on 410 also `"timestamp"` in milliseconds since 1970.
///
/// Source: Apple, "Handling notification responses from APNs". The debug data of a GOAWAY is the same object.
struct RefusalBody: Hashable {
    /// Maximum size of a body in bytes. Apple's bodies have about 60.
    static let maximumBytes = 4_096

    var reason: APNSReason?
    var inactiveSince: UnixTime?

    /// Reads a body. A body that is broken or has another shape has no reason.
    init(_ bytes: some Collection<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumBytes,
            let value = try? JSONValue(parsing: Array(bytes)), let object = value.object
        else { return }
        if let text = object["reason"]?.string, !text.isEmpty { reason = APNSReason(text) }
        if let milliseconds = object["timestamp"]?.int { inactiveSince = UnixTime(milliseconds: Int64(milliseconds)) }
    }
}
