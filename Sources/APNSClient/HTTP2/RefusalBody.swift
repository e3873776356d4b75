import APNSModel
import JSONText

/// The JSON body of a refusal: `{"reason": "…"}`, on 410 with `"timestamp"` in milliseconds since 1970 (Apple,
/// "Handling notification responses from APNs"). The same object is the debug data of a GOAWAY.
struct RefusalBody: Hashable {
    /// The largest body that is read; Apple's have some 60 bytes.
    static let maximumBytes = 4_096

    var reason: APNSReason?
    var inactiveSince: UnixTime?

    /// What can be read of it: a body that is broken, or has another shape, has no reason.
    init(_ bytes: some Collection<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumBytes,
            let value = try? JSONValue(parsing: Array(bytes)), let object = value.object
        else { return }
        if let text = object["reason"]?.string, !text.isEmpty { reason = APNSReason(text) }
        if let milliseconds = object["timestamp"]?.int { inactiveSince = UnixTime(milliseconds: Int64(milliseconds)) }
    }
}
