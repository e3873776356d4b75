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

    /// Writes the certificate, the provider key, the contracts and an `islet.yaml`.
    func write(_ addresses: APNSSimulator.Addresses, key: ProviderKey, p8: String, into folder: URL) throws {
        func put(_ name: String, _ text: String, secret: Bool = false) throws {
            let url = folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: url)
            if secret {
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
            }
        }
        try put("simulator-ca.pem", addresses.caPEM)
        try put("AuthKey_\(key.keyID).p8", p8, secret: true)
        try example.writeContracts(into: folder)
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
                    keyFile: AuthKey_\(key.keyID).p8
                    keyID: "\(key.keyID)"
                    teamID: "\(key.teamID)"
                    endpoint: https://\(addresses.host):\(port)
                    channelEndpoint: https://\(addresses.host):\(addresses.managementPorts[.sandbox] ?? 0)
                    trustRoots: simulator-ca.pem
            \(example.configuration(startGrace: startGrace))

            """)
    }
}
