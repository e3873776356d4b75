/// Identifier that somebody else chose: 1 to 256 bytes without control characters.
///
/// `Kind` keeps identifiers of different kinds apart, such as a user's and a device's.
package struct ForeignID<Kind: ForeignIDKind>: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static var maximumBytes: Int { 256 }

    package let text: String

    /// Creates an identifier from untrusted text.
    ///
    /// - Throws: `ForeignIDError` if the text is empty, longer than 256 bytes, or contains a control character.
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

    /// Creates an identifier from stored text, which was checked when it was stored.
    package init(stored text: String) {
        self.text = text
    }

    // Identifiers are compared by their bytes, as in the database: two Unicode spellings of one letter are two
    // identifiers. The exception is a UUID of a kind with `foldsUUIDs`, whose case does not matter.
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

    /// This identifier in lowercase if it is a UUID whose case does not matter; otherwise unchanged.
    package var inSmallLetters: Self { isSpelledTwice ? Self(stored: text.lowercased()) : self }

    /// Texts under which the database may hold this identifier.
    package var spellings: [String] {
        isSpelledTwice ? Set([text, text.lowercased(), text.uppercased()]).sorted() : [text]
    }

    /// `true` if the text is a UUID whose case does not matter: `8-4-4-4-12` hexadecimal digits (RFC 9562 section 4).
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

    /// Bytes of a UUID in lowercase. Setting bit 0x20 lowers letters; decimal digits and hyphens already have it set.
    private var folded: some Sequence<UInt8> { text.utf8.lazy.map { $0 | 0x20 } }
}

package protocol ForeignIDKind: Sendable {
    static var name: String { get }
    /// `true` if uppercase and lowercase spellings of a UUID are the same identifier.
    static var foldsUUIDs: Bool { get }
}

extension ForeignIDKind {
    package static var foldsUUIDs: Bool { false }
}

/// Activity ids fold UUIDs, because Swift always writes a UUID in uppercase and most backends write it in lowercase.
package enum ActivityIDKind: ForeignIDKind {
    package static let name = "activity id"
    package static let foldsUUIDs = true
}
package enum UserIDKind: ForeignIDKind { package static let name = "user id" }
package enum DeviceIDKind: ForeignIDKind { package static let name = "device id" }
package enum LocalIDKind: ForeignIDKind { package static let name = "local id" }

/// The backend's id of an activity, such as `order-12345`.
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

/// Number of an activity, which orders activities on disk. Numbers are sequential and never reused.
package typealias ActivityNumber = Int64
/// Number of a person, which orders people on disk.
package typealias UserNumber = Int64
/// Key of a device, which orders devices on disk. Keys are 63 random bits and never reused, so lanes split evenly.
package typealias DeviceKey = Int64
/// Number of a desired state. It grows by one with each change, across all runs of an activity.
package typealias Revision = Int64
