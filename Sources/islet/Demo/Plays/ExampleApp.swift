import APNSSimulator
import Foundation
import JSONText

/// An example app. On phones its types decode pushes, and the server's configuration names them.
struct ExampleApp: Sendable {
    let bundleID: String
    let types: [ExampleType]

    /// Swift names of the app's types.
    var swiftNames: [String] { types.map(\.installed.name) }

    /// Writes the contracts that the configuration names, beside it.
    func writeContracts(into folder: URL) throws {
        for type in types {
            let file = folder.appendingPathComponent(type.contractPath)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(type.contract).write(to: file)
        }
    }

    /// Returns the entry `activities` of the configuration.
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

/// An activity type of an example app.
struct ExampleType: Sendable {
    /// Name of the type in the API.
    let name: String
    /// Swift type on the phones, which decodes pushes.
    let installed: InstalledActivityType
    /// Contract of the type on the server.
    let contract: [UInt8]
    /// Lines of YAML next to the type's names, such as `activityIDAttribute: /orderId`.
    var keys: [String] = []
    /// Lines of YAML of the policy, without `startGrace`.
    var policy: [String] = []
    /// Lines of YAML that describe how the console draws a card.
    var view: [String] = []

    /// Type as the app on a phone knows it, with the server's names for it.
    var onPhones: InstalledActivityType {
        var type = installed
        type.type = name
        let prefix = "activityIDAttribute: "
        for key in keys where key.hasPrefix(prefix) {
            type.activityIDAttribute = try? JSONPointer(String(key.dropFirst(prefix.count)))
        }
        return type
    }

    /// Path of the contract, relative to the configuration.
    var contractPath: String { "Contracts/\(name).json" }
}
