import Crypto
import Foundation

/// Secret that signs calls to a backend, in the form of Standard Webhooks (https://www.standardwebhooks.com): `whsec_`
/// followed by 24 to 64 bytes in base64.
package struct WebhookSecret: Sendable, CustomStringConvertible, CustomReflectable {
    package static let prefix = "whsec_"
    package static let sizes = 24...64

    private let key: SymmetricKey

    /// Reads a secret, ignoring white space around it. Returns `nil` if the text has another form.
    package init?(_ text: String) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.hasPrefix(Self.prefix), let bytes = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
            Self.sizes.contains(bytes.count)
        else { return nil }
        key = SymmetricKey(data: bytes)
    }

    /// Returns the value of `webhook-signature`: HMAC-SHA256 of id, timestamp and body, separated by dots.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        var code = HMAC<SHA256>(key: key)
        code.update(data: Data("\(id).\(timestamp).".utf8))
        code.update(data: body)
        return "v1," + Data(code.finalize()).base64EncodedString()
    }

    package var description: String { Self.prefix + "…" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
