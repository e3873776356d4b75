import APNSModel
import Foundation
import JSONText

extension InitAnswers {
    /// Name of the ring of token keys, which a PostgreSQL database needs, beside the configuration.
    static let ringName = "token-keys.json"

    /// Returns the text of the configuration.
    ///
    /// - Parameter folder: Absolute path of its folder, from which the paths in it begin.
    func text(in folder: String) -> String {
        var lines = [
            "# Made by `islet init`. `islet config check` explains this file, and `islet config reference` prints",
            "# every key. Paths begin at this file's folder.",
            "listen: \(Self.scalar(listen))  # beyond this machine: set `tls`, or use a proxy with TLS",
            "storage: \(Self.scalar(storage))",
        ]
        if needsRing {
            lines.append("tokenKeys: {file: \(Self.ringName)}  # every server of the database needs the same ring")
        }
        lines += ["apps:", "  - bundleID: \(Self.scalar(bundleID))", "    apns:"]
        lines += keyLines(in: folder).map { "      " + $0 }
        lines += ["    activities:"] + kindLines.map { "      " + $0 }
        return lines.joined(separator: "\n") + "\n"
    }

    /// `true` if the configuration names a ring of token keys. A SQLite database gets one at the server's first start.
    var needsRing: Bool { !storage.hasPrefix("sqlite:") }

    private func keyLines(in folder: String) -> [String] {
        switch key {
        case .apple(let key):
            return [
                "# sandbox: builds that Xcode installs. production: TestFlight and the App Store. Or both.",
                "\(key.environment.rawValue):",
                "  keyFile: \(Self.scalar(Self.path(of: key.file, from: folder)))",
                "  keyID: \(Self.scalar(key.keyID))",
                "  teamID: \(Self.scalar(key.teamID))",
            ]
        case .simulator:
            let standard = SimulatorFiles.Standard.self
            return [
                "# `islet simulate` in Apple's place. It writes trustRoots, so start it before the server.",
                "sandbox:",
                "  keyFile: \(standard.directory)/\(standard.keyFile)",
                "  keyID: \(standard.keyID)",
                "  teamID: \(standard.keyID)",
                "  endpoint: https://127.0.0.1:\(standard.port)",
                "  channelEndpoint: https://127.0.0.1:\(standard.channelPort)",
                "  trustRoots: \(standard.directory)/\(standard.certificate)",
            ]
        }
    }

    private var kindLines: [String] {
        var lines = [
            "- type: \(Self.scalar(kind.type))  # the name in the HTTP API",
            "  attributesType: \(Self.scalar(kind.attributesType))  # the name of the Swift type",
        ]
        if let pointer = kind.activityIDAttribute {
            lines.append("  activityIDAttribute: \(Self.scalar(pointer))  # where the attributes name the activity")
        }
        lines.append("  policy:")
        if key == .simulator {
            lines.append("    startGrace: 2s  # how long a start waits for the app to start the card itself")
        }
        if let alert = kind.startAlert {
            lines += ["    startAlert:", "      title: \(Self.scalar(alert.title))"]
            if let body = alert.body { lines.append("      body: \(Self.scalar(body))") }
        } else {
            lines.append("    start: appOnly  # a start by push needs `startAlert` in place of this")
        }
        return lines
    }

    /// Returns the path of a file as the configuration names it: relative if the file is below its folder.
    static func path(of file: String, from folder: String) -> String {
        let path = URL(fileURLWithPath: file).standardizedFileURL.path
        let folder = URL(fileURLWithPath: folder).standardizedFileURL.path
        let start = folder.hasSuffix("/") ? folder : folder + "/"
        return path.hasPrefix(start) ? String(path.dropFirst(start.count)) : path
    }

    /// Returns a text as YAML: plain if it is read as the same text, else in quotes.
    static func scalar(_ text: String) -> String {
        func isWord(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
        }
        let bytes = Array(text.utf8)
        guard let first = bytes.first, let last = bytes.last, isWord(first) || first == UInt8(ascii: "/"),
            last != UInt8(ascii: ":"), bytes.allSatisfy({ isWord($0) || "._-/:@".utf8.contains($0) }),
            YAMLText.scalar(text) == .string(text)
        else { return JSONValue.string(text).text }
        return text
    }
}
