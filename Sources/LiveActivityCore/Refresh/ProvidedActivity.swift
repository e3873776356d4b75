/// Activity of a provider-driven type on one device of one person.
///
/// Its id follows from the three, so nobody has to choose one, and two computations never create two activities.
package enum ProvidedActivity {
    /// Returns `type/user/device`, with `%` and `/` escaped in each part. A text longer than an id may be is replaced
    /// by its digest.
    package static func id(type: String, user: UserID, device: DeviceID) -> ActivityID {
        let text = [type, user.text, device.text].map(escaped).joined(separator: "/")
        guard text.utf8.count > ActivityID.maximumBytes else { return ActivityID(stored: text) }
        return ActivityID(stored: "~" + hexadecimal(digest(text.utf8)))
    }

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%") }) else { return text }
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "/": escaped += "%2F"
            case "%": escaped += "%25"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    /// Returns the 128-bit FNV-1a hash (draft-eastlake-fnv). It need not resist attacks, because all ids belong to one
    /// app.
    private static func digest(_ bytes: some Sequence<UInt8>) -> UInt128 {
        let prime = UInt128(1) << 88 | 0x13B
        var hash = UInt128(0x6c62_272e_07bb_0142) << 64 | 0x62b8_2175_6295_c58d
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* prime }
        return hash
    }

    private static func hexadecimal(_ value: UInt128) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
