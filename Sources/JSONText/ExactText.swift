/// A string that equals another only if their UTF-8 bytes are the same.
///
/// Swift's `==` treats canonically equivalent strings as equal ("é" as one scalar or as two). RFC 8259 section 8.3
/// compares code units. Keys must do so too, because otherwise two different members of an object would become one.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (left: ExactText, right: ExactText) -> Bool {
        let (left, right) = (left.text.utf8, right.text.utf8)
        guard left.count == right.count else { return false }
        let isSame = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
        }
        return isSame.flatMap(\.self) ?? left.elementsEqual(right)
    }

    func hash(into hasher: inout Hasher) {
        let hashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if hashed == nil { hasher.combine(Array(text.utf8)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension ArraySlice<UInt8> {
    /// These bytes as a string. They must be valid UTF-8.
    var utf8Text: String { String(decoding: self, as: UTF8.self) }
}
