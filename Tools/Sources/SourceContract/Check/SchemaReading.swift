import JSONText

/// A comparison of two schemas: does the type of the reader's schema decode everything that fits the writer's?
struct SchemaReading {
    struct Problem {
        let pointer: JSONPointer
        let words: String
    }

    private let reader: JSONValue
    private let writer: JSONValue
    /// `true` if the writer uses the new contract, `false` if it uses the old one.
    private let isNewWriter: Bool
    private var path: [String] = []
    private var problems: [Problem] = []
    /// Pairs that were compared already, by reference where there is one, because types may contain themselves.
    private var seen: Set<[String]> = []

    init(reader: JSONValue, writer: JSONValue, isNewWriter: Bool) {
        self.reader = reader
        self.writer = writer
        self.isNewWriter = isNewWriter
    }

    mutating func problems(at part: String) -> [Problem] {
        path = [part]
        compare(reader, writer)
        return problems
    }

    private mutating func note(_ words: String, at more: String? = nil) {
        problems.append(Problem(pointer: JSONPointer(tokens: path + (more.map { [$0] } ?? [])), words: words))
    }

    private mutating func below(_ token: String, _ read: JSONValue, _ written: JSONValue) {
        path.append(token)
        compare(read, written)
        path.removeLast()
    }

    // MARK: - Schemas

    private mutating func compare(_ read: JSONValue, _ written: JSONValue) {
        let reads = Form(read, in: reader)
        let writes = Form(written, in: writer)
        if reads.takesAnything { return }
        if writes.takesNull, !reads.takesNull {
            note(
                isNewWriter ? "`null` is new here, and older builds refuse it" : "`null` was taken here, and is not now"
            )
        }
        guard reads.schema != writes.schema || reads.schema.hasReferences else { return }
        if reads.reference != nil || writes.reference != nil {
            let names = [reads, writes].map { $0.reference ?? JSONValue.object($0.schema).text }
            guard seen.insert(names).inserted else { return }
        }
        guard let kind = reads.kind, kind == writes.kind else {
            for keyword in ["anyOf", "oneOf"] {
                guard let read = reads.branches(keyword), let written = writes.branches(keyword) else { continue }
                return branches(read, written)
            }
            if !reads.takesWhat(writes) { note("\(writes.words) is written, \(reads.words) is read") }
            return
        }
        switch kind {
        case "object": object(reads, writes)
        case "array": array(reads, writes)
        default: scalar(reads, writes)
        }
    }

    /// Compares hand-written alternatives, each with the one at the same position.
    private mutating func branches(_ read: [JSONValue], _ written: [JSONValue]) {
        guard read.count == written.count else { return note("one of several is read, and of others written") }
        for (known, other) in zip(read, written) { compare(known, other) }
    }

    private mutating func bounds(_ reads: Form, _ writes: Form) {
        for bound in reads.narrowerBounds(than: writes) { note("`\(bound)` is narrower where it is read") }
    }

    private mutating func scalar(_ reads: Form, _ writes: Form) {
        if let known = reads.schema["enum"]?.array {
            guard let values = writes.schema["enum"]?.array else {
                return note("any \(writes.words) is written, and only listed ones are read")
            }
            let strange = values.filter { !known.contains($0) }
            if !strange.isEmpty {
                let list = strange.map(\.text).joined(separator: ", ")
                note(isNewWriter ? "older builds do not know \(list)" : "\(list) is known no more")
            }
            return
        }
        guard reads.takesWhat(writes) else {
            return note("\(writes.words) is written, \(reads.words) is read")
        }
        bounds(reads, writes)
    }

    // MARK: - Objects

    private mutating func object(_ reads: Form, _ writes: Form) {
        let (hint, other) = (reads.swift, writes.swift)
        if reads.isEnum || writes.isEnum {
            guard reads.isEnum, writes.isEnum else {
                return note("an enum with associated values is read by its cases")
            }
            return cases(reads, writes)
        }
        if let items = reads.items, let others = writes.items {
            if hint != other, hint?.object != nil { note("integer keys are read, any text is written") }
            bounds(reads, writes)
            return below("*", items, others)
        }
        guard reads.items == nil, writes.items == nil else {
            return note("a dictionary and a struct are not read from each other")
        }
        members(reads, writes)
    }

    private mutating func members(_ reads: Form, _ writes: Form) {
        for name in reads.required where !writes.required.contains(name) {
            if writes.properties[name] == nil {
                note(
                    isNewWriter
                        ? "it is gone, and older builds require it"
                        : "it is new and required, and running cards were made without it: make it optional",
                    at: name)
            } else {
                note(
                    isNewWriter
                        ? "it may be left out now, and older builds require it"
                        : "it could be left out, and is required now", at: name)
            }
        }
        for (name, property) in writes.properties {
            if let known = reads.properties[name] { below(name, known, property) }
        }
    }

    private mutating func cases(_ reads: Form, _ writes: Form) {
        for (name, payload) in writes.properties {
            if let known = reads.properties[name] {
                below(name, known, payload)
            } else {
                note(
                    isNewWriter ? "older builds do not know this case" : "this case is known no more", at: name)
            }
        }
    }

    // MARK: - Arrays

    private mutating func array(_ reads: Form, _ writes: Form) {
        if let read = reads.pairs, let written = writes.pairs {
            below("key", read.key, written.key)
            return below("value", read.value, written.value)
        }
        if let read = reads.prefix, let written = writes.prefix {
            guard written.count >= read.count, reads.isRange || !writes.isRange, !reads.isRange || writes.isRange else {
                return note("\(writes.words) is written, \(reads.words) is read")
            }
            for (index, item) in read.enumerated() { below(String(index), item, written[index]) }
            return
        }
        guard reads.pairs == nil, writes.pairs == nil, reads.prefix == nil, writes.prefix == nil else {
            return note("\(writes.words) is written, \(reads.words) is read")
        }
        bounds(reads, writes)
        below("*", reads.schema["items"] ?? true, writes.schema["items"] ?? true)
    }
}
