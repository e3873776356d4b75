/// An id that somebody else chose: 1 to 256 bytes without control characters. `Kind` keeps a user's id from being taken
/// for a device's.
package struct ForeignID<Kind: ForeignIDKind>: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static var maximumBytes: Int { 256 }

    package let text: String

    /// - Throws: `ForeignIDError` for an empty text, one over 256 bytes, or one with a control character.
    package init(_ text: String) throws(ForeignIDError) {
        guard !text.isEmpty else { throw ForeignIDError(kind: Kind.name, problem: "is empty") }
        guard text.utf8.count <= Self.maximumBytes else {
            throw ForeignIDError(kind: Kind.name, problem: "has \(text.utf8.count) bytes, at most 256 are allowed")
        }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw ForeignIDError(kind: Kind.name, problem: "contains a control character")
        }
        self.text = text
    }

    /// For a text that was checked when it was stored.
    package init(stored text: String) {
        self.text = text
    }

    // By their bytes, as the database tells ids apart: two spellings of one letter are two ids. But a UUID is one id in
    // capitals and in small letters, where the kind says so.
    package static func == (left: Self, right: Self) -> Bool {
        if left.text.utf8.elementsEqual(right.text.utf8) { return true }
        return left.isSpelledTwice && right.isSpelledTwice && left.folded.elementsEqual(right.folded)
    }

    package func hash(into hasher: inout Hasher) {
        if isSpelledTwice {
            for byte in folded { hasher.combine(byte) }
        } else {
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        switch (left.isSpelledTwice, right.isSpelledTwice) {
        case (false, false): left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
        case (true, false): left.folded.lexicographicallyPrecedes(right.text.utf8)
        case (false, true): left.text.utf8.lexicographicallyPrecedes(right.folded)
        case (true, true): left.folded.lexicographicallyPrecedes(right.folded)
        }
    }
    package var description: String { text }

    // MARK: - UUIDs

    /// This id in small letters, where it is one that is spelled in two ways.
    package var inSmallLetters: Self { isSpelledTwice ? Self(stored: text.lowercased()) : self }

    /// The texts under which the database may have it.
    package var spellings: [String] {
        isSpelledTwice ? Set([text, text.lowercased(), text.uppercased()]).sorted() : [text]
    }

    /// `8-4-4-4-12` hexadecimal digits (RFC 9562 section 4), which mean the same in either case.
    private var isSpelledTwice: Bool {
        guard Kind.foldsUUIDs, text.utf8.count == 36 else { return false }
        return text.utf8.enumerated().allSatisfy { index, byte in
            switch (index, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")), (23, UInt8(ascii: "-")):
                true
            case (8, _), (13, _), (18, _), (23, _): false
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                true
            default: false
            }
        }
    }

    /// The bytes of a UUID's digits in small letters: the bit that makes them small, digits and hyphens have already.
    private var folded: some Sequence<UInt8> { text.utf8.lazy.map { $0 | 0x20 } }
}

package protocol ForeignIDKind: Sendable {
    static var name: String { get }
    /// Whether a UUID is the same id in capitals and in small letters.
    static var foldsUUIDs: Bool { get }
}

extension ForeignIDKind {
    package static var foldsUUIDs: Bool { false }
}

/// Swift writes a UUID in capitals, whatever it was given, and most backends write it in small letters.
package enum ActivityIDKind: ForeignIDKind {
    package static let name = "activity id"
    package static let foldsUUIDs = true
}
package enum UserIDKind: ForeignIDKind { package static let name = "user id" }
package enum DeviceIDKind: ForeignIDKind { package static let name = "device id" }
package enum LocalIDKind: ForeignIDKind { package static let name = "local id" }

/// The backend's id of an activity: `order-12345`.
package typealias ActivityID = ForeignID<ActivityIDKind>
/// The backend's id of a person.
package typealias UserID = ForeignID<UserIDKind>
/// The app's id of one installation on one phone.
package typealias DeviceID = ForeignID<DeviceIDKind>
/// ActivityKit's id of one card on one phone.
package typealias LocalID = ForeignID<LocalIDKind>

package struct ForeignIDError: Error, Sendable, Hashable, CustomStringConvertible {
    package let kind: String
    package let problem: String

    package var description: String { "the \(kind) \(problem)" }
}

/// The order of activities on disk: sequential, given once.
package typealias ActivityNumber = Int64
/// The order of people on disk.
package typealias UserNumber = Int64
/// The order of devices on disk: random 63 bits, given once, so that lanes split evenly.
package typealias DeviceKey = Int64
/// Grows by one with each change of what should be shown, over all runs of an activity.
package typealias Revision = Int64
