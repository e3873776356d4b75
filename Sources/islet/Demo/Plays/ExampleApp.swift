import APNSSimulator
import Foundation
import JSONText

/// An app of the examples: on phones its types decode what is pushed, and the server's configuration names them.
struct ExampleApp: Sendable {
    let bundleID: String
    let types: [ExampleType]

    /// The Swift names of its types.
    var swiftNames: [String] { types.map(\.installed.name) }

    /// Writes the files that its configuration names, beside it.
    func writeContracts(into folder: URL) throws {
        for type in types {
            let file = folder.appendingPathComponent(type.contractPath)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(type.contract).write(to: file)
        }
    }

    /// The entry `activities` of its configuration.
    func configuration(startGrace: String) -> String {
        var lines = ["    activities:"]
        for type in types {
            lines.append("      - type: \(type.name)")
            lines.append("        attributesType: \(type.installed.name)")
            lines.append("        contract: \(type.contractPath)")
            lines += type.keys.map { "        " + $0 }
            lines.append("        policy:")
            lines.append("          startGrace: \(startGrace)")
            lines += type.policy.map { "          " + $0 }
            guard !type.view.isEmpty else { continue }
            lines.append("        view:")
            lines += type.view.map { "          " + $0 }
        }
        return lines.joined(separator: "\n")
    }
}

/// A kind of activity of such an app.
struct ExampleType: Sendable {
    /// The API's name of it.
    let name: String
    /// The Swift type behind it, which decodes what phones are sent.
    let installed: InstalledActivityType
    /// What the server checks its states against.
    let contract: [UInt8]
    /// Lines of YAML beside its names, such as `activityIDAttribute: /orderId`.
    var keys: [String] = []
    /// Lines of YAML of its policy, without `startGrace`.
    var policy: [String] = []
    /// Lines of YAML of how the console draws it.
    var view: [String] = []

    /// The type as the app on a phone knows it, with the names that its server has for it.
    var onPhones: InstalledActivityType {
        var type = installed
        type.type = name
        let prefix = "activityIDAttribute: "
        for key in keys where key.hasPrefix(prefix) {
            type.activityIDAttribute = try? JSONPointer(String(key.dropFirst(prefix.count)))
        }
        return type
    }

    /// Beside the configuration.
    var contractPath: String { "Contracts/\(name).json" }
}
