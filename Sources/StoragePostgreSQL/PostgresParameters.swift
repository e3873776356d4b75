import StorageSQL

/// The parameters of a statement in PostgreSQL's binary format.
struct PostgresParameters {
    /// Object ids of types, the same in every database
    /// (https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/catalog/pg_type.dat).
    enum OID {
        static let unknown: UInt32 = 0
        static let blob: UInt32 = 17
        static let int: UInt32 = 20
        static let text: UInt32 = 25
        static let double: UInt32 = 701
        static let blobs: UInt32 = 1001
        static let texts: UInt32 = 1009
        static let ints: UInt32 = 1016
        static let doubles: UInt32 = 1022
    }

    private(set) var types: [UInt32] = []
    private var bytes: [UInt8] = []
    /// The place of each parameter in `bytes`; `nil` for `NULL`.
    private var places: [Range<Int>?] = []

    init() {}

    init(_ arguments: [SQLArgument]) {
        for argument in arguments { add(argument) }
    }

    mutating func add(_ argument: SQLArgument) {
        switch argument {
        case .int(let value): add(OID.int) { $0.append(bigEndian: value) }
        case .text(let value): add(OID.text) { $0 += value.utf8 }
        case .blob(let value): add(OID.blob) { $0 += value }
        case .null:
            types.append(OID.unknown)
            places.append(nil)
        case .list(let values): add(PostgresArray.ints(values))
        case .texts(let values): add(PostgresArray.texts(values))
        case .pairs(let values):
            var flat = PostgresArray(.int)
            for value in values {
                flat.append(value.0)
                flat.append(value.1)
            }
            add(flat)
        case .tuples(let rows):
            // One parameter stands for four arrays, so that a statement has one form for both databases.
            add(PostgresArray.ints(rows.map(\.0)))
            add(PostgresArray.texts(rows.map(\.1)))
            add(PostgresArray.ints(rows.map(\.2)))
            add(PostgresArray.ints(rows.map(\.3)))
        }
    }

    mutating func add(_ array: PostgresArray) {
        add(array.type) { (bytes: inout [UInt8]) in array.encode(into: &bytes) }
    }

    private mutating func add(_ type: UInt32, _ encode: (inout [UInt8]) -> Void) {
        let start = bytes.count
        encode(&bytes)
        types.append(type)
        places.append(start..<bytes.count)
    }

    /// Calls `body` with the arrays that libpq takes: pointers to values, their lengths, and their formats.
    func withPointers<Value>(
        _ body: (
            UnsafeBufferPointer<UnsafePointer<CChar>?>, UnsafeBufferPointer<CInt>, UnsafeBufferPointer<CInt>
        ) -> Value
    ) -> Value {
        // A value without bytes needs an address all the same: without one it would be `NULL`.
        (bytes + [0]).withUnsafeBytes { bytes in
            let base = bytes.bindMemory(to: CChar.self).baseAddress
            let values = places.map { place in place.flatMap { range in base.map { $0 + range.lowerBound } } }
            let lengths = places.map { CInt($0?.count ?? 0) }
            let formats = [CInt](repeating: 1, count: places.count)
            return values.withUnsafeBufferPointer { values in
                lengths.withUnsafeBufferPointer { lengths in
                    formats.withUnsafeBufferPointer { formats in body(values, lengths, formats) }
                }
            }
        }
    }
}

/// An array of one dimension in PostgreSQL's binary format (`array_send` in
/// https://github.com/postgres/postgres/blob/REL_15_STABLE/src/backend/utils/adt/arrayfuncs.c).
struct PostgresArray {
    private(set) var kind: SQLType
    private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    init(_ kind: SQLType) {
        self.kind = kind
    }

    static func ints(_ values: [Int64]) -> Self {
        var array = Self(.int)
        array.elements.reserveCapacity(values.count * 12)
        for value in values { array.append(value) }
        return array
    }

    static func ints(_ values: [Int64?]) -> Self {
        var array = Self(.int)
        for value in values {
            if let value { array.append(value) } else { array.appendNull(.int) }
        }
        return array
    }

    static func texts(_ values: [String]) -> Self {
        var array = Self(.text)
        for var value in values { value.withUTF8 { array.append(UnsafeRawBufferPointer($0), .text) } }
        return array
    }

    mutating func append(_ value: Int64) {
        kind = .int
        count += 1
        elements.append(bigEndian: Int32(8))
        elements.append(bigEndian: value)
    }

    mutating func append(_ value: Double) {
        kind = .double
        count += 1
        elements.append(bigEndian: Int32(8))
        elements.append(bigEndian: value.bitPattern)
    }

    mutating func append(_ value: UnsafeRawBufferPointer, _ kind: SQLType) {
        self.kind = kind
        count += 1
        elements.append(bigEndian: Int32(value.count))
        elements += value
    }

    mutating func appendNull(_ kind: SQLType) {
        self.kind = kind
        count += 1
        hasNull = true
        elements.append(bigEndian: Int32(-1))
    }

    var type: UInt32 {
        switch kind {
        case .int: PostgresParameters.OID.ints
        case .double: PostgresParameters.OID.doubles
        case .text: PostgresParameters.OID.texts
        case .blob: PostgresParameters.OID.blobs
        }
    }

    private var elementType: UInt32 {
        switch kind {
        case .int: PostgresParameters.OID.int
        case .double: PostgresParameters.OID.double
        case .text: PostgresParameters.OID.text
        case .blob: PostgresParameters.OID.blob
        }
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
        bytes.append(bigEndian: elementType)
        guard count > 0 else { return }
        bytes.append(bigEndian: Int32(count))
        bytes.append(bigEndian: Int32(1))
        bytes += elements
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { self += $0 }
    }
}
