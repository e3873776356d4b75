import APNSModel
import Foundation
import LiveActivityCore
import XcodeProjects

/// The facts about an app's project folder. `ProjectDiagnosis` derives the findings.
struct ProjectFacts {
    /// Findings about files that could not be read.
    var problems: [Finding] = []
    var apps: [AppFacts] = []
    /// Facts of a server's configuration; `nil` if there is none.
    var server: ServerFacts?

    struct AppFacts {
        var app: TargetFacts
        /// Widget extensions that the app embeds, or all that exist if it embeds none.
        var widgets: [TargetFacts]
        var carriesWidgets: Bool
        /// `true` if an extension with an unreadable Info.plist may be a widget extension.
        var hasUnreadExtension: Bool
    }

    struct TargetFacts {
        /// Path of `project.pbxproj`.
        var file: String
        var name: String
        var line: Int
        /// One for each configuration.
        var builds: [BuildFacts]
    }

    struct ServerFacts {
        /// Environments that have keys, by the app's bundle ID.
        var environments: [String: Set<APNSEnvironment>]
    }
}

extension ProjectFacts.ServerFacts {
    init(_ settings: Settings) {
        environments = Dictionary(
            settings.apps.map { ($0.bundleID.text, $0.environments) }, uniquingKeysWith: { $0.union($1) })
    }
}

/// A target in one configuration.
struct BuildFacts {
    /// Path of `project.pbxproj`.
    var file: String
    /// Line of the configuration.
    var line: Int
    var configuration: String
    var settings: BuildSettings
    var info: List
    var entitlements: List

    enum List {
        case unnamed
        /// The list is named but could not be read. That has a separate finding.
        case unread
        case read(ListFacts)

        var facts: ListFacts? { if case .read(let facts) = self { facts } else { nil } }
        var isUnread: Bool { if case .unread = self { true } else { false } }
    }

    /// Bundle ID; `nil` if unknown.
    var bundleID: String? {
        settings.value("PRODUCT_BUNDLE_IDENTIFIER")
            ?? (info.facts?.values["CFBundleIdentifier"] as? String).flatMap(settings.resolved)
    }

    /// Deployment target; `nil` if unknown.
    var system: SystemVersion? { settings.value("IPHONEOS_DEPLOYMENT_TARGET").flatMap(SystemVersion.init) }

    func place(_ setting: String) -> Finding.Place { Finding.Place(file: file, line: line, key: setting) }
}

/// A property list of the project.
struct ListFacts {
    let file: String
    let values: [String: Any]
    private let lines: [String: Int]

    struct Unread: Error, Equatable {
        /// Line of the problem; `nil` if unknown, as in a binary file.
        var line: Int?
        var what: String
    }

    /// Parses a property list.
    ///
    /// - Parameter file: Path relative to the folder that was named.
    init(file: String, _ data: Data) throws(Unread) {
        guard let values = try Self.value(of: data) as? [String: Any] else {
            throw Unread(line: 1, what: "is not a property list of keys and values")
        }
        self.file = file
        self.values = values
        lines = Self.lines(data)
    }

    func place(_ key: String) -> Finding.Place { Finding.Place(file: file, line: lines[key], key: key) }

    /// Returns the value of an XML or binary property list.
    static func value(of data: Data) throws(Unread) -> Any {
        do {
            return try PropertyListSerialization.propertyList(from: data, format: nil)
        } catch {
            let words = (error as NSError).userInfo["NSDebugDescription"] as? String ?? "is not a property list"
            let line = words.firstMatch(of: /line (\d+)/).flatMap { Int($0.1) }
            let isBinary = data.starts(with: Data("bplist".utf8))
            // A binary list has no lines. An error without a line means that the list ends too early, so it is the last
            // line.
            throw Unread(line: isBinary ? nil : line ?? data.count { $0 == UInt8(ascii: "\n") } + 1, what: words)
        }
    }

    /// Returns the line of each key's first occurrence. The result is empty for a binary list.
    private static func lines(_ data: Data) -> [String: Int] {
        var lines: [String: Int] = [:]
        let text = String(decoding: data, as: UTF8.self)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard let start = line.firstRange(of: "<key>"), let end = line.firstRange(of: "</key>"),
                start.upperBound <= end.lowerBound
            else { continue }
            let key = String(line[start.upperBound..<end.lowerBound])
            lines[key] = lines[key] ?? index + 1
        }
        return lines
    }
}

/// A version of iOS, such as `16.2`.
struct SystemVersion: Comparable, CustomStringConvertible {
    let major: Int
    let minor: Int

    init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    init?(_ text: String) {
        let parts = text.split(separator: ".").map { Int($0) }
        guard let first = parts.first, let major = first, !parts.contains(nil) else { return nil }
        self.init(major, parts.count > 1 ? parts[1] ?? 0 : 0)
    }

    static func < (left: Self, right: Self) -> Bool { (left.major, left.minor) < (right.major, right.minor) }

    var description: String { "\(major).\(minor)" }
}
