internal import Foundation

extension String {
    /// The text can be the id of a broadcast channel, as the server takes it: base64 (RFC 4648 section 4), 256
    /// characters at most.
    var isChannel: Bool { 1...256 ~= utf8.count && Data(base64Encoded: self) != nil }
}
