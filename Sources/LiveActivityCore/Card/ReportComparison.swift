import APNSModel
import JSONText

/// Comparison of what a phone reports with what it was sent.
///
/// It uses the contract of the phone's own build, which ignores members that the build does not know yet.
struct ReportComparison {
    private let newest: Contract?
    private let older: Contract?

    init(_ type: ActivityType?, build: String?) {
        newest = type?.contract
        older = type?.olderContract(of: build)
    }

    /// Returns the digest of a reported content state.
    func digest(ofState reported: JSONObject) -> UInt64 { ContentDigest.of(state: reported, older ?? newest) }

    /// Returns the digest of reported attributes.
    func digest(ofAttributes reported: JSONObject) -> UInt64 {
        ContentDigest.of(attributes: reported, older ?? newest)
    }

    /// Returns the digest that a phone with the desired state would report.
    func stateDigest(_ desired: ContentRecord) -> UInt64 {
        guard let older, let state = Self.object(desired.state) else { return desired.digest }
        return ContentDigest.of(state: state, older)
    }

    /// Returns the digest that a phone with the desired attributes would report.
    func attributesDigest(_ desired: ContentRecord) -> UInt64 {
        guard let older, let attributes = Self.object(desired.attributes) else { return desired.attributesDigest }
        return ContentDigest.of(attributes: attributes, older)
    }

    private static func object(_ encoded: EncodedObject) -> JSONObject? {
        (try? JSONValue(parsing: encoded.bytes))?.object
    }
}
