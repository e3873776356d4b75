import Foundation
import Testing

/// The library's privacy manifest: it has Apple's form, and it is true.
///
/// `CodeRule.reasons` checks that the sources call no API for which Apple requires a reason.
/// https://developer.apple.com/documentation/bundleresources/privacy-manifest-files
struct PrivacyTests {
    private static let manifest = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/LiveActivityClient/PrivacyInfo.xcprivacy")

    /// A kind of data, and its purpose.
    private struct Collected: Hashable {
        var type: String
        var purposes: [String]

        init(_ type: String, _ purpose: String) {
            self.type = "NSPrivacyCollectedDataType" + type
            purposes = ["NSPrivacyCollectedDataTypePurpose" + purpose]
        }

        init?(_ entry: [String: Any]) {
            let prefix = "NSPrivacyCollectedDataType"
            guard Set(entry.keys) == [prefix, prefix + "Linked", prefix + "Tracking", prefix + "Purposes"],
                entry[prefix + "Linked"] as? Bool == true, entry[prefix + "Tracking"] as? Bool == false,
                let type = entry[prefix] as? String, let purposes = entry[prefix + "Purposes"] as? [String]
            else { return nil }
            (self.type, self.purposes) = (type, purposes)
        }
    }

    @Test func `names what is sent with the person's id, and no tracking`() throws {
        let read = try PropertyListSerialization.propertyList(from: Data(contentsOf: Self.manifest), format: nil)
        let manifest = try #require(read as? [String: Any])
        #expect(
            Set(manifest.keys) == [
                "NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes",
                "NSPrivacyAccessedAPITypes",
            ])
        #expect(manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyTrackingDomains"] as? [Any])?.isEmpty == true)
        #expect((manifest["NSPrivacyAccessedAPITypes"] as? [Any])?.isEmpty == true)
        let entries = try #require(manifest["NSPrivacyCollectedDataTypes"] as? [[String: Any]])
        // The person, the installation with its tokens, and how often somebody opened the app from a Live Activity.
        #expect(
            entries.map(Collected.init) == [
                Collected("UserID", "AppFunctionality"), Collected("DeviceID", "AppFunctionality"),
                Collected("ProductInteraction", "Analytics"),
            ])
    }
}
