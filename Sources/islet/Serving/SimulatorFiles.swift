import APNSModel
import APNSSimulator
import Foundation

/// The files with which a server uses a simulator in place of Apple.
struct SimulatorFiles {
    let example: ExampleApp
    /// Address `host:port` of the server.
    let listen: String
    /// Bundle ID that replaces the example's.
    var app: String?
    var startGrace = "15s"
    /// Host in the URLs of the `islet.yaml`; `nil` for the address that the simulator listens on.
    var host: String?

    /// Names and ports of a simulator whose options do not say otherwise. A configuration of `islet init` has them too.
    enum Standard {
        static let directory = "simulator"
        static let port = 2197
        static let channelPort = 2195
        /// Id of the provider key and of its team. Nobody takes it for one of Apple's.
        static let keyID = "SIMULATOR1"
        static let keyFile = "AuthKey_\(keyID).p8"
        static let certificate = "simulator-ca.pem"
        /// File of the API key that phones report with.
        static let backendKeyFile = "api-key"
    }

    /// Returns a new provider key and the text of its `.p8` file.
    static func freshKey() -> (key: ProviderKey, p8: String) {
        ProviderKey.fresh(keyID: Standard.keyID, teamID: Standard.keyID, environments: [.sandbox])
    }

    /// Returns the provider key in a folder, which is made if it is missing.
    ///
    /// The simulator keeps it from run to run, because configurations name it.
    static func key(in folder: URL) throws(CommandError) -> ProviderKey {
        let file = folder.appendingPathComponent(Standard.keyFile).path
        if let data = FileManager.default.contents(atPath: file) {
            do throws(SimulatorError) {
                return try ProviderKey(
                    keyID: Standard.keyID, teamID: Standard.keyID, pem: String(decoding: data, as: UTF8.self),
                    environments: [.sandbox])
            } catch {
                throw CommandError("\(file): \(error.detail): remove it, and the simulator makes another")
            }
        }
        let (key, p8) = freshKey()
        let permissions = [FileAttributeKey.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: file, contents: Data(p8.utf8), attributes: permissions) else {
            throw CommandError("\(file) cannot be written")
        }
        return key
    }

    /// Writes the certificate, the contracts and an `islet.yaml`, beside the provider key.
    func write(_ addresses: APNSSimulator.Addresses, into folder: URL) throws {
        func put(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        try put(Standard.certificate, addresses.caPEM)
        try example.writeContracts(into: folder)
        let host = self.host ?? addresses.host
        let port = addresses.ports[.sandbox] ?? 0
        try put(
            "islet.yaml",
            """
            # Made by `islet simulate`: a server with this configuration pushes to the simulator in place of Apple.
            listen: "\(listen)"
            storage: sqlite:islet.db
            apps:
              - bundleID: \(app ?? example.bundleID)
                apns:
                  sandbox:
                    keyFile: \(Standard.keyFile)
                    keyID: \(Standard.keyID)
                    teamID: \(Standard.keyID)
                    endpoint: https://\(host):\(port)
                    channelEndpoint: https://\(host):\(addresses.managementPorts[.sandbox] ?? 0)
                    trustRoots: \(Standard.certificate)
            \(example.configuration(startGrace: startGrace))

            """)
    }
}
