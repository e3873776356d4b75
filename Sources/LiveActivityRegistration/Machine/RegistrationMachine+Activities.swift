// Comparison of activity ids.
extension RegistrationMachine {
    /// Returns `true` if both ids exist and name the same activity.
    static func isSame(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return false }
        return canonical(one) == canonical(other)
    }

    /// Returns the spelling by which ids are compared. Swift writes a UUID in capitals and most backends in small
    /// letters. The server compares ids in the same way.
    static func canonical(_ activity: String) -> String {
        let bytes = Array(activity.utf8)
        guard bytes.count == 36 else { return activity }
        let isUUID = bytes.indices.allSatisfy { index in
            hyphens.contains(index) ? bytes[index] == UInt8(ascii: "-") : isHexadecimal(bytes[index])
        }
        return isUUID ? activity.lowercased() : activity
    }

    private static let hyphens: Set = [8, 13, 18, 23]

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
