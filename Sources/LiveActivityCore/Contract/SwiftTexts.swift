import JSONText

/// String conversions of Foundation's `JSONDecoder` for types other than `String`.
enum SwiftTexts {
    // MARK: - Data

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns base64 as `JSONEncoder` writes it, with the unused bits set to zero. Returns `nil` unless the text is
    /// standard base64 with padding (RFC 4648 section 4).
    static func base64(_ text: String) -> String? {
        var bytes = Array(text.utf8)
        let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard bytes.count.isMultiple(of: 4), padding <= 2 else { return nil }
        let end = bytes.count - padding
        guard bytes[..<end].allSatisfy(alphabet.contains) else { return nil }
        if padding > 0, end > 0, let index = alphabet.firstIndex(of: bytes[end - 1]) {
            bytes[end - 1] = alphabet[index & ~(padding == 1 ? 0b11 : 0b1111)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns standard base64 with padding for text that is URL-safe or lacks padding; `nil` if the text is neither.
    static func repairedBase64(_ text: String) -> String? {
        var standard = text.filter { !"=\n\r ".contains($0) }
        standard = String(standard.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return base64(standard)
    }

    // MARK: - UUID

    /// Returns a UUID as `JSONEncoder` writes it, in uppercase; `nil` if the text is not a UUID.
    static func uuid(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        for (index, byte) in bytes.enumerated() {
            let isDash = [8, 13, 18, 23].contains(index)
            guard isDash ? byte == UInt8(ascii: "-") : isHex(byte) else { return nil }
        }
        return text.uppercased()
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    // MARK: - URL (RFC 3986)

    private static let unreserved = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let name = unreserved.union("!$&'()*+,;=".utf8)
    private static let userInformation = name.union(":".utf8)
    private static let path = name.union(":@/".utf8)
    private static let query = path.union("?".utf8)
    private static let scheme = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.".utf8)

    /// Returns whether `URL(string:)` accepts a text unchanged.
    ///
    /// Newer systems also accept some invalid texts by escaping them. Older systems do not, so such a text is refused.
    static func isURL(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        guard !rest.isEmpty else { return false }
        if let colon = rest.firstIndex(where: { ":/?#[]@".utf8.contains($0) }), rest[colon] == UInt8(ascii: ":"),
            colon > rest.startIndex
        {
            guard isScheme(rest[..<colon]) else { return false }
            rest = rest[(colon + 1)...]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
            guard isAuthority(rest[..<end]) else { return false }
            rest = rest[end...]
        }
        let fragment = rest.firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex
        let question = rest[..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
        return isMade(rest[..<question], of: path) && isMade(rest[question..<fragment].dropFirst(), of: query)
            && isMade(rest[fragment...].dropFirst(), of: query)
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.first.map { $0 >= UInt8(ascii: "A") } == true && bytes.allSatisfy(scheme.contains)
    }

    private static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
        var host = bytes
        if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
            guard isMade(bytes[..<at], of: userInformation) else { return false }
            host = bytes[(at + 1)...]
        }
        var port: ArraySlice<UInt8> = []
        if host.first == UInt8(ascii: "["), let close = host.firstIndex(of: UInt8(ascii: "]")) {
            let after = host[(close + 1)...]
            guard after.isEmpty || after.first == UInt8(ascii: ":") else { return false }
            port = after.dropFirst()
            guard isAddress(host[(host.startIndex + 1)..<close]) else { return false }
        } else {
            let colon = host.firstIndex(of: UInt8(ascii: ":")) ?? host.endIndex
            port = host[colon...].dropFirst()
            guard isMade(host[..<colon], of: name) else { return false }
        }
        return port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Returns whether the bytes are an address in brackets, with an optional zone after `%25`.
    private static func isAddress(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let percent = bytes.firstIndex(of: UInt8(ascii: "%")) else {
            return bytes.allSatisfy(userInformation.contains)
        }
        let zone = bytes[percent...]
        return bytes[..<percent].allSatisfy(userInformation.contains) && zone.starts(with: "%25".utf8)
            && isMade(zone.dropFirst(3), of: unreserved)
    }

    /// Returns whether the bytes consist of allowed bytes and of `%` with two hexadecimal digits.
    private static func isMade(_ bytes: ArraySlice<UInt8>, of allowed: Set<UInt8>) -> Bool {
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst(), let low = rest.popFirst(), isHex(high), isHex(low) else {
                    return false
                }
            } else if !allowed.contains(byte) {
                return false
            }
        }
        return true
    }

    /// Returns the text with invalid bytes escaped; `nil` if the result is still not a URL.
    static func repairedURL(_ text: String) -> String? {
        var bytes: [UInt8] = []
        let kept = query.union("#%[]".utf8)
        for byte in text.utf8 {
            if kept.contains(byte) {
                bytes.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        let repaired = String(decoding: bytes, as: UTF8.self)
        return isURL(repaired) ? repaired : nil
    }
}
