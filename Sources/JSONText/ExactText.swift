/// A string that equals another only when their UTF-8 bytes are the same.
///
/// Swift's own `==` treats canonically equivalent strings as one ("é" as one scalar or as two); RFC 8259 section 8.3
/// compares code unit by code unit, and so must keys, or two different members of an object would become one.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
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
    /// These bytes, already known to be valid UTF-8, as a string.
    var utf8Text: String { String(decoding: self, as: UTF8.self) }
}
