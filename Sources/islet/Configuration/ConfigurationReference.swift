import JSONText

/// The output of `islet config reference`: every key with its type, default, variable and meaning, as a loadable file.
///
/// A key with a default is printed with it. A key without a default is printed as an example, in a comment.
enum ConfigurationReference {
    private static let width = 110

    static var text: String {
        var lines = wrapped(
            "Islet's configuration: all keys. A key with a default may be left out; a comment in front of a key marks "
                + "one that has none, with an example. A duration is 90s, 5m, 1h, 2d or a number of seconds, at most "
                + "30d. A variable that is set and not empty takes precedence over the file; the 0 in its name counts "
                + "the list's elements. ISLET_LOG_LEVEL (trace, debug, info, notice, warning, error, critical) and "
                + "ISLET_LOG_FORMAT (text, json) can be set only as environment variables.",
            indent: "")
        lines.append("")
        write(ConfigurationKey.file, [], Layout(), &lines)
        return lines.joined(separator: "\n") + "\n"
    }

    private struct Layout {
        var indent = ""
        /// Text before the next key, if it is not the indent: the dash of a list's first key.
        var first: String?
        var isComment = false

        mutating func takeLead() -> String {
            defer { first = nil }
            return first ?? indent
        }
    }

    private static func write(
        _ keys: [ConfigurationKey], _ path: [String], _ layout: Layout, _ lines: inout [String]
    ) {
        var layout = layout
        for key in keys {
            let isComment = layout.isComment || isLeftOut(key)
            lines += wrapped(key.meaning, indent: layout.indent)
            if let facts = facts(key, path + [key.name]) { lines += wrapped(facts, indent: layout.indent) }
            let lead = layout.takeLead()
            lines.append((isComment ? commented(lead) : lead) + "\(key.name):" + value(key))
            var inner = Layout(indent: layout.indent + "  ", first: nil, isComment: isComment)
            switch key.shape {
            case .text, .scalar, .scalars: continue
            case .object(let keys): write(keys, path + [key.name], inner, &lines)
            case .objects(let keys):
                inner.first = inner.indent + "- "
                inner.indent += "  "
                write(keys, path + [key.name, "0"], inner, &lines)
            }
        }
    }

    private static func isLeftOut(_ key: ConfigurationKey) -> Bool {
        switch key.presence {
        case .required, .defaulted, .group(isOptional: false): false
        case .optional: true
        // Only groups that have defaults and no required keys, such as a policy, are printed. All others stay comments.
        case .group(isOptional: true): !holdsOnlyDefaults(key)
        }
    }

    private static func holdsOnlyDefaults(_ key: ConfigurationKey) -> Bool {
        guard case .object(let keys) = key.shape else { return false }
        let hasDefaults = keys.contains { if case .defaulted = $0.presence { true } else { false } }
        let hasNeeds = keys.contains { if case .required = $0.presence { true } else { false } }
        return hasDefaults && !hasNeeds
    }

    private static func commented(_ lead: String) -> String {
        let blanks = lead.prefix { $0 == " " }
        return blanks + "#" + lead.dropFirst(blanks.count)
    }

    private static func value(_ key: ConfigurationKey) -> String {
        switch (key.shape, key.presence) {
        case (.object, _), (.objects, _), (_, .group): ""
        case (.scalars, .required(let text)), (.scalars, .defaulted(let text)), (.scalars, .optional(let text)):
            " [\(text)]"
        case (_, .required(let text)), (_, .defaulted(let text)), (_, .optional(let text)): " \(plain(text))"
        }
    }

    /// Returns the text, in quotes if YAML would read it differently.
    private static func plain(_ text: String) -> String {
        text.contains(": ") || text.contains(" #") || text.hasPrefix("[") ? JSONValue.string(text).text : text
    }

    private static func facts(_ key: ConfigurationKey, _ path: [String]) -> String? {
        let (type, isList): (String, Bool)
        switch key.shape {
        case .text(let text), .scalar(let text): (type, isList) = (text, false)
        case .scalars(let text): (type, isList) = (text, true)
        case .object, .objects: return nil
        }
        let rule =
            switch key.presence {
            case .required: "required"
            case .defaulted(let text): "default \(text)"
            case .optional, .group: "no default"
            }
        let pointer = JSONPointer(tokens: path + (isList ? ["0"] : []))
        let variable = ConfigurationLoader.environmentPrefix + EnvironmentNames.name(of: pointer)
        return "(\(isList ? "list of \(type)" : type); \(rule); \(variable))"
    }

    private static func wrapped(_ text: String, indent: String) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent.count + 3 + line.count + word.count > width {
                lines.append("\(indent)# \(line)")
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty ? lines : lines + ["\(indent)# \(line)"]
    }
}
