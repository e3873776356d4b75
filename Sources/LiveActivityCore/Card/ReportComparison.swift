import APNSModel
import JSONText

/// Compares what a phone reports with what it was sent: by the contract of its own build, which passes over members
/// that it does not know yet.
struct ReportComparison {
    private let newest: Contract?
    private let older: Contract?

    init(_ type: ActivityType?, build: String?) {
        newest = type?.contract
        older = type?.olderContract(of: build)
    }

    func digest(ofState reported: JSONObject) -> UInt64 { ContentDigest.of(state: reported, older ?? newest) }

    func digest(ofAttributes reported: JSONObject) -> UInt64 {
        ContentDigest.of(attributes: reported, older ?? newest)
    }

    func stateDigest(_ desired: ContentRecord) -> UInt64 {
        guard let older, let state = Self.object(desired.state) else { return desired.digest }
        return ContentDigest.of(state: state, older)
    }

    func attributesDigest(_ desired: ContentRecord) -> UInt64 {
        guard let older, let attributes = Self.object(desired.attributes) else { return desired.attributesDigest }
        return ContentDigest.of(attributes: attributes, older)
    }

    private static func object(_ encoded: EncodedObject) -> JSONObject? {
        (try? JSONValue(parsing: encoded.bytes))?.object
    }
}
