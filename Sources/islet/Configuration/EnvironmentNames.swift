import JSONText

/// The mapping between environment variables, without their prefix, and keys: `APPS_0_BUNDLE_ID` is `/apps/0/bundleID`.
enum EnvironmentNames {
    /// Conversion of a variable's text to a value.
    enum Kind: Sendable {
        /// The text itself: an id of ten digits stays a text.
        case text
        /// A plain scalar of YAML: numbers, `true`, `false` and `null` have their types.
        case scalar
    }

    private indirect enum Shape: Sendable {
        case leaf(Kind)
        case object([String: Shape])
        case list(Shape)

        init(_ keys: [ConfigurationKey]) {
            self = .object(Dictionary(keys.map { ($0.name, Shape($0.shape)) }, uniquingKeysWith: { first, _ in first }))
        }

        private init(_ shape: ConfigurationKey.Shape) {
            switch shape {
            case .text: self = .leaf(.text)
            case .scalar: self = .leaf(.scalar)
            case .scalars: self = .list(.leaf(.scalar))
            case .object(let keys): self = Shape(keys)
            case .objects(let keys): self = .list(Shape(keys))
            }
        }
    }

    private static let file = Shape(ConfigurationKey.file)

    /// Returns the key that a variable sets, or `nil` for a name that is no key's, such as the variable of a secret.
    static func key(of name: String) -> (pointer: JSONPointer, kind: Kind)? {
        // The short form, as `metrics: false` in the file.
        if name == "METRICS" { return (JSONPointer(tokens: ["metrics", "served"]), .scalar) }
        // With a separator before every word, `resolve` treats the first word like the others.
        return resolve("_" + name, file).map { (JSONPointer(tokens: $0.tokens), $0.kind) }
    }

    /// Pointers to every key that a variable can set. They are sorted, and an element of a list has index 0.
    static var all: [JSONPointer] { pointers(of: file).map { JSONPointer(tokens: $0) } }

    /// Returns the name of a key's variable, without the prefix.
    static func name(of pointer: JSONPointer) -> String { pointer.tokens.map(snake).joined(separator: "_") }

    private static func resolve(_ name: String, _ shape: Shape) -> (tokens: [String], kind: Kind)? {
        switch shape {
        case .leaf(let kind): return name.isEmpty ? ([], kind) : nil
        case .list(let element):
            guard name.hasPrefix("_") else { return nil }
            let digits = name.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty, let tail = resolve(String(name.dropFirst(1 + digits.count)), element) else {
                return nil
            }
            return ([String(digits)] + tail.tokens, tail.kind)
        case .object(let members):
            // A key may be the prefix of another, such as `START` of `START_GRACE`. Only the right one consumes the
            // whole name.
            for (key, member) in members where name.hasPrefix("_" + snake(key)) {
                if let tail = resolve(String(name.dropFirst(1 + snake(key).count)), member) {
                    return ([key] + tail.tokens, tail.kind)
                }
            }
            return nil
        }
    }

    private static func pointers(of shape: Shape) -> [[String]] {
        switch shape {
        case .leaf: [[]]
        case .list(let element): pointers(of: element).map { ["0"] + $0 }
        case .object(let members):
            members.sorted { $0.key < $1.key }.flatMap { key, member in pointers(of: member).map { [key] + $0 } }
        }
    }

    /// Returns `KEY_ID` for `keyID`, `STALE_AFTER` for `staleAfter`, `ACTIVITY_ID_ATTRIBUTE` for `activityIDAttribute`.
    private static func snake(_ key: String) -> String {
        let letters = Array(key)
        var words = ""
        for (index, letter) in letters.enumerated() {
            let startsWord =
                index > 0 && letter.isUppercase
                && (letters[index - 1].isLowercase
                    || index + 1 < letters.count && letters[index + 1].isLowercase && letters[index - 1].isUppercase)
            words += (startsWord ? "_" : "") + letter.uppercased()
        }
        return words
    }
}
