internal import Foundation

extension String {
    /// `true` if the text can be the id of a broadcast channel by the server's rule: base64 (RFC 4648 section 4), at
    /// most 256 characters.
    var isChannel: Bool { 1...256 ~= utf8.count && Data(base64Encoded: self) != nil }
}
