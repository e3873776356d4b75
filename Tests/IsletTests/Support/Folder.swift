import Crypto
import Foundation
import JSONText
import StorageSQL
import StorageSQLite

@testable import islet

/// A directory with a signing key and configurations, removed with its test.
final class Folder: Sendable {
    let url: URL
    let signingKey = P256.Signing.PrivateKey()

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try write(signingKey.pemRepresentation, to: "key.p8")
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
        return path(name)
    }

    /// Makes a ring of token keys in a folder of its own and returns its path.
    func ringApart() throws -> String {
        let apart = url.appendingPathComponent("apart")
        try FileManager.default.createDirectory(at: apart, withIntermediateDirectories: true)
        let path = try write(TokenKeyRing.fresh().text, to: "apart/ring.json")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    /// Returns the settings of a configuration in this directory.
    func load(_ yaml: String, _ environment: [String: String] = [:]) throws -> Settings {
        try ConfigurationLoader.load(try write(yaml, to: "islet.yaml"), environment: environment)
    }

    /// Returns the error with which a configuration is refused; `nil` if it is accepted.
    func error(_ yaml: String, _ environment: [String: String] = [:]) throws -> ConfigurationError? {
        do {
            _ = try load(yaml, environment)
            return nil
        } catch let error as ConfigurationError {
            return error
        }
    }
}

/// A configuration with one part replaced.
enum Sample {
    static let key = "{keyFile: key.p8, keyID: ABC123DEFG, teamID: XYZ987MNOP}"
    static let policy = "{startAlert: {title: Your order}}"

    static func type(_ policy: String = policy, more: String = "") -> String {
        "{type: Order, attributesType: OrderAttributes, policy: \(policy)\(more)}"
    }

    static func app(apns: String = "{sandbox: \(key)}", types: String = "[\(type())]") -> String {
        "{bundleID: com.acme.pizza, apns: \(apns), activities: \(types)}"
    }

    static func file(_ top: String = "", apps: String = "[\(app())]") -> String { "\(top)\napps: \(apps)\n" }

    /// Returns a configuration with this key.
    static func file(key: String) -> String { file(apps: "[\(app(apns: "{sandbox: \(key)}"))]") }

    /// Returns a configuration with this policy.
    static func file(policy: String) -> String { file(apps: "[\(app(types: "[\(type(policy))]"))]") }
}
