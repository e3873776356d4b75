import APNSModel
import Foundation
import LiveActivityCore
import XcodeProjects

/// What the folder of an app's project holds; what follows from it is `ProjectDiagnosis`.
struct ProjectFacts {
    /// What could not be read, and why.
    var problems: [Finding] = []
    var apps: [AppFacts] = []
    /// What a server's configuration says; `nil`: there is none.
    var server: ServerFacts?

    struct AppFacts {
        var app: TargetFacts
        /// Those that the app carries; where it carries none, those that are there.
        var widgets: [TargetFacts]
        var carriesWidgets: Bool
        /// One of the extensions may be a widget's, and its Info.plist could not be read.
        var hasUnreadExtension: Bool
    }

    struct TargetFacts {
        /// `project.pbxproj`
        var file: String
        var name: String
        var line: Int
        /// One for each configuration.
        var builds: [BuildFacts]
    }

    struct ServerFacts {
        /// The environments that there are keys for, by the app's bundle id.
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
    /// `project.pbxproj`
    var file: String
    /// Of the configuration.
    var line: Int
    var configuration: String
    var settings: BuildSettings
    var info: List
    var entitlements: List

    enum List {
        case unnamed
        /// It is named and could not be read, which is a finding of its own.
        case unread
        case read(ListFacts)

        var facts: ListFacts? { if case .read(let facts) = self { facts } else { nil } }
        var isUnread: Bool { if case .unread = self { true } else { false } }
    }

    /// `nil`: not known.
    var bundleID: String? {
        settings.value("PRODUCT_BUNDLE_IDENTIFIER")
            ?? (info.facts?.values["CFBundleIdentifier"] as? String).flatMap(settings.resolved)
    }

    /// The first iOS that it is built for; `nil`: not known.
    var system: SystemVersion? { settings.value("IPHONEOS_DEPLOYMENT_TARGET").flatMap(SystemVersion.init) }

    func place(_ setting: String) -> Finding.Place { Finding.Place(file: file, line: line, key: setting) }
}

/// A property list of the project.
struct ListFacts {
    let file: String
    let values: [String: Any]
    private let lines: [String: Int]

    struct Unread: Error, Equatable {
        /// `nil`: not known, as in a binary file.
        var line: Int?
        var what: String
    }

    /// - Parameter file: From the folder that was named.
    init(file: String, _ data: Data) throws(Unread) {
        guard let values = try Self.value(of: data) as? [String: Any] else {
            throw Unread(line: 1, what: "is no property list of keys and values")
        }
        self.file = file
        self.values = values
        lines = Self.lines(data)
    }

    func place(_ key: String) -> Finding.Place { Finding.Place(file: file, line: lines[key], key: key) }

    /// XML or binary.
    static func value(of data: Data) throws(Unread) -> Any {
        do {
            return try PropertyListSerialization.propertyList(from: data, format: nil)
        } catch {
            let words = (error as NSError).userInfo["NSDebugDescription"] as? String ?? "is no property list"
            let line = words.firstMatch(of: /line (\d+)/).flatMap { Int($0.1) }
            let isBinary = data.starts(with: Data("bplist".utf8))
            // A binary list has no lines. What ends too early is told without one: it is the last.
            throw Unread(line: isBinary ? nil : line ?? data.count { $0 == UInt8(ascii: "\n") } + 1, what: words)
        }
    }

    /// Where each key is first named; nothing of a binary list.
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

/// `16.2`
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
