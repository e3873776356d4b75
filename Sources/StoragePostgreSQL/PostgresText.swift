import StorageSQL

/// Writes the engine's statements as PostgreSQL takes them.
enum PostgresText {
    /// Columns and tables of the engine whose names are reserved words of PostgreSQL
    /// (https://www.postgresql.org/docs/15/sql-keywords-appendix.html).
    private static let reserved: Set<Substring> = ["user", "authorization"]

    /// Returns a statement with numbered parameters, quoted names and without hints for SQLite.
    ///
    /// `list(?)` and `pairs(?)` are functions of the schema. `tuples(?)` stands for four parameters.
    static func of(_ text: String, _ arguments: [SQLArgument]) -> String {
        // The number of the first parameter of each argument.
        var numbers: [Int] = []
        var next = 1
        for argument in arguments {
            numbers.append(next)
            if case .tuples = argument { next += 4 } else { next += 1 }
        }
        var made = ""
        var rest = text[...]
        var sequence = 0
        while let character = rest.first {
            switch character {
            case "'", "\"":
                let end = rest.dropFirst().firstIndex(of: character) ?? rest.index(before: rest.endIndex)
                made += rest[...end]
                rest = rest[rest.index(after: end)...]
            case "?":
                rest = rest.dropFirst()
                let digits = rest.prefix { $0.isASCII && $0.isNumber }
                rest = rest.dropFirst(digits.count)
                let index = Int(digits).map { $0 - 1 } ?? sequence
                sequence = index + 1
                guard arguments.indices.contains(index) else {
                    made += "NULL"
                    continue
                }
                let number = numbers[index]
                if case .tuples = arguments[index] {
                    made += (number..<number + 4).map { "$\($0)" }.joined(separator: ", ")
                } else {
                    made += "$\(number)"
                }
            case _ where character.isLetter || character == "_":
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                rest = rest.dropFirst(word.count)
                switch word {
                case "INDEXED":
                    // `INDEXED BY name`, or the end of `NOT INDEXED`.
                    if rest.hasPrefix(" BY ") {
                        rest = rest.dropFirst(" BY ".count).drop { $0.isLetter || $0.isNumber || $0 == "_" }
                    }
                case "NOT" where rest.hasPrefix(" INDEXED"): break
                case "CROSS": break
                case _ where reserved.contains(word): made += "\"\(word)\""
                default: made += word
                }
            default:
                made.append(character)
                rest = rest.dropFirst()
            }
        }
        return made
    }

    static func of(_ table: SQLUpsert, _ columns: [PostgresArray]) -> String {
        func list(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ",") }
        let arrays = columns.enumerated().map { "$\($0.offset + 1)::\($0.element.typeName)" }
        let update =
            table.updated.isEmpty
            ? "NOTHING" : "UPDATE SET " + table.updated.map { "\"\($0)\"=excluded.\"\($0)\"" }.joined(separator: ",")
        return "INSERT INTO \"\(table.table)\" (\(list(table.columns))) SELECT * FROM unnest("
            + arrays.joined(separator: ",") + ") ON CONFLICT (\(list(table.keyColumns))) DO \(update)"
    }
}

extension PostgresArray {
    fileprivate var typeName: String {
        switch kind {
        case .int: "int8[]"
        case .double: "float8[]"
        case .text: "text[]"
        case .blob: "bytea[]"
        }
    }
}
