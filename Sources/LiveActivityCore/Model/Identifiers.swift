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

    // By their bytes, as the database tells ids apart: two spellings of one letter are two ids.
    package static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
    package var description: String { text }
}

package protocol ForeignIDKind: Sendable {
    static var name: String { get }
}

package enum ActivityIDKind: ForeignIDKind { package static let name = "activity id" }
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
