import Foundation

/// Build settings of one target in one configuration, as far as they can be known without Xcode.
struct BuildSettings {
    /// Maximum length of an expanded value in bytes. A few settings that refer to each other twice would otherwise fill
    /// any memory.
    static let longest = 10_000

    /// Layers of settings, strongest first.
    private let layers: [[String: String]]

    /// Creates settings.
    ///
    /// - Parameter layers: Layers of settings, strongest first: target, its file, project, its file.
    init(_ layers: [[String: String]], configuration: String) {
        self.layers = layers.map { Self.chosen($0, configuration: configuration) }
    }

    /// Returns the expanded value, or `nil` if it is not set, is empty, or depends on unknown settings.
    func value(_ key: String) -> String? {
        var budget = Budget()
        guard let text = expanded(key, from: 0, &budget), !text.isEmpty, !Self.isOpen(text) else { return nil }
        return text
    }

    /// Returns a text of a property list with its references expanded, or `nil` if one of them is unknown.
    func resolved(_ text: String) -> String? {
        var budget = Budget()
        guard let text = replaced(text, nil, &budget), !Self.isOpen(text) else { return nil }
        return text
    }

    /// Returns `true` if a layer sets the key, even if the expanded value is empty or unknown.
    func isSet(_ key: String) -> Bool { layers.contains { $0[key]?.isEmpty == false } }

    func isOn(_ key: String) -> Bool { value(key).map(Self.isYes) ?? false }

    static func isYes(_ text: String) -> Bool { ["YES", "TRUE", "1"].contains(text.uppercased()) }

    private static func isOpen(_ text: String) -> Bool { text.contains("$(") || text.contains("${") }

    // MARK: - Conditions

    /// Returns a layer in which `KEY[sdk=iphoneos*]` replaces `KEY` if its conditions match a build for a phone.
    private static func chosen(_ layer: [String: String], configuration: String) -> [String: String] {
        var plain = layer.filter { !$0.key.contains("[") }
        for (key, value) in layer.sorted(by: { $0.key < $1.key }) where key.contains("[") {
            let parts = key.split(whereSeparator: { "[],".contains($0) }).map(String.init)
            guard let name = parts.first else { continue }
            if parts.dropFirst().allSatisfy({ holds($0, configuration: configuration) }) { plain[name] = value }
        }
        return plain
    }

    private static func holds(_ condition: String, configuration: String) -> Bool {
        let parts = condition.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return false }
        let actual = ["sdk": "iphoneos", "arch": "arm64", "config": configuration][parts[0]] ?? ""
        let wanted = parts[1]
        return wanted.hasSuffix("*") ? actual.hasPrefix(wanted.dropLast()) : actual == wanted
    }

    // MARK: - References

    /// Remaining steps for one value, because settings that refer to each other many times would never end.
    private struct Budget {
        var steps = 1_000
    }

    /// Place where the search for `$(inherited)` continues.
    private typealias Below = (key: String, layer: Int)

    private func expanded(_ key: String, from layer: Int, _ budget: inout Budget) -> String? {
        for index in layers.indices.dropFirst(layer) {
            guard let text = layers[index][key] else { continue }
            return replaced(text, (key, index + 1), &budget)
        }
        return nil
    }

    /// Expands references. An unknown reference stays in the text.
    private func replaced(_ text: String, _ below: Below?, _ budget: inout Budget) -> String? {
        var result = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "$") {
            result += rest[..<start]
            let after = rest[rest.index(after: start)...]
            let ends: [Character: Character] = ["(": ")", "{": "}"]
            guard let open = after.first, let close = ends[open], let end = after.firstIndex(of: close) else {
                result += "$"
                rest = after
                continue
            }
            budget.steps -= 1
            guard budget.steps > 0 else { return nil }
            let reference = after[after.index(after: after.startIndex)..<end]
            rest = after[after.index(after: end)...]
            result += value(of: reference, below, &budget) ?? "$(\(reference))"
            guard result.utf8.count <= Self.longest else { return nil }
        }
        return result + rest
    }

    private func value(of reference: Substring, _ below: Below?, _ budget: inout Budget) -> String? {
        let parts = reference.split(separator: ":")
        guard let name = parts.first.map(String.init) else { return nil }
        var text: String?
        if name == "inherited" || name == below?.key {
            text = below.flatMap { expanded($0.key, from: $0.layer, &budget) ?? "" }
        } else {
            text = expanded(name, from: 0, &budget)
        }
        for word in parts.dropFirst() {
            if word.hasPrefix("default=") {
                if text?.isEmpty ?? true { text = String(word.dropFirst("default=".count)) }
            } else if word == "rfc1034identifier" || word == "c99extidentifier" {
                let filler: Character = word == "rfc1034identifier" ? "-" : "_"
                text = text.map { String($0.map { $0.isLetter || $0.isNumber || $0 == "." ? $0 : filler }) }
            } else if word == "lower" {
                text = text?.lowercased()
            } else {
                return nil
            }
        }
        return text
    }
}

/// A file of build settings (`.xcconfig`).
enum SettingsFile {
    enum Line: Equatable {
        case setting(key: String, value: String)
        case include(path: String, isOptional: Bool)
    }

    /// Returns the settings and includes in order. Other lines are ignored, as in Xcode.
    static func lines(_ text: String) -> [Line] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            let line = (line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line)
                .trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("#include") {
                let path = line.split(separator: "\"", omittingEmptySubsequences: false)
                guard path.count == 3 else { return nil }
                return .include(path: String(path[1]), isOptional: line.hasPrefix("#include?"))
            }
            // A condition in brackets contains its own `=`, so the search begins after the brackets.
            let searched = line.lastIndex(of: "]").flatMap { end in
                line[..<end].contains("[") && !line[..<(line.firstIndex(of: "[") ?? end)].contains("=") ? end : nil
            }
            guard let sign = line[(searched ?? line.startIndex)...].firstIndex(of: "=") else { return nil }
            let key = line[..<sign].trimmingCharacters(in: .whitespaces)
            let value = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
            return key.isEmpty ? nil : .setting(key: key, value: value)
        }
    }
}
