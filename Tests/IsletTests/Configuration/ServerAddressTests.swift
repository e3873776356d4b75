import Foundation
import Testing

@testable import islet

/// The address at which a command calls the server of a configuration.
struct ServerAddressTests {
    @Test(arguments: [
        ("127.0.0.1", 8080, false, "http://127.0.0.1:8080"), ("0.0.0.0", 8443, true, "https://127.0.0.1:8443"),
        ("::", 8080, false, "http://[::1]:8080"), ("0:0:0:0:0:0:0:0", 80, false, "http://[::1]:80"),
        ("::1", 8080, true, "https://[::1]:8080"), ("10.0.0.5", 8080, true, "https://10.0.0.5:8080"),
        ("localhost", 8080, false, "http://localhost:8080"),
    ])
    func `a server that listens on every address is called at the loopback`(
        _ host: String, _ port: Int, _ isEncrypted: Bool, _ url: String
    ) {
        let address = ServerAddress(listening: host, port: port, isEncrypted: isEncrypted)
        #expect(address.url == url && address.isOnThisMachine)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", true), ("https://localhost", true), ("https://[::1]:8443", true),
        ("https://127.example.com", false), ("https://islet.example.com", false), ("https://10.0.0.5", false),
    ])
    func `a URL leads to this machine only by a loopback address`(_ url: String, _ isOnThisMachine: Bool) {
        #expect(ServerAddress(url)?.isOnThisMachine == isOnThisMachine)
    }

    @Test(arguments: ["", "localhost:8080", "ftp://localhost", "http://"])
    func `other texts are no URL of a server`(_ text: String) {
        #expect(ServerAddress(text) == nil)
    }

    private func address(_ yaml: String, _ environment: [String: String] = [:]) throws -> String {
        let folder = try Folder()
        return try withExtendedLifetime(folder) {
            try ConfigurationLoader.address(folder.write(yaml, to: "islet.yaml"), environment: environment).url
        }
    }

    @Test func `it is listen and tls, of the file or of variables`() throws {
        #expect(try address("apps: []") == "http://127.0.0.1:8080")
        #expect(try address("listen:\ntls:\n") == "http://127.0.0.1:8080")
        #expect(try address("listen: 0.0.0.0:80\ntls: {certificate: none}") == "https://127.0.0.1:80")
        let variables = ["ISLET_LISTEN": "[::]:81", "ISLET_TLS_KEY": "a", "ISLET_APPS_7_BUNDLE_ID": "x"]
        #expect(try address("listen: 0.0.0.0:80", variables) == "https://[::1]:81")
    }

    @Test(arguments: [
        ("listen: 80", [:], "/listen: `80` is not host:port"), ("listen: [1]", [:], "/listen: `[1]` is not host:port"),
        ("listen: 127.0.0.1:0", [:], "/listen: with port 0"), ("a: [", [:], "the file is not YAML"), ("", [:], "empty"),
        ("listen: 127.0.0.1:80", ["ISLET_LISTEN": "x"], "ISLET_LISTEN: /listen: `x` is not host:port"),
    ])
    func `what names no address is an error at its place`(
        _ yaml: String, _ environment: [String: String], _ words: String
    ) throws {
        let error = #expect(throws: ConfigurationError.self) { try address(yaml, environment) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}
