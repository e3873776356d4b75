import APNSClient
import Crypto
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityCore
import Testing

@testable import islet

struct ReferenceTests {
    private func load(_ text: String) throws -> Settings {
        let folder = try Folder()
        try folder.write(folder.signingKey.pemRepresentation, to: "AuthKey_ABC123DEFG.p8")
        return try folder.load(text)
    }

    @Test func `the printed file can be loaded, and gives the defaults`() throws {
        let settings = try load(ConfigurationReference.text)
        let least = try load(
            """
            apps:
              - bundleID: com.example.pizza
                apns: {sandbox: {keyFile: AuthKey_ABC123DEFG.p8, keyID: ABC123DEFG, teamID: XYZ987MNOP}}
                activities:
                  - type: OrderTracking
                    attributesType: OrderTrackingAttributes
                    policy: {startAlert: {title: Your order}}
            """)
        #expect(settings.apps == least.apps)
        #expect(settings.host == least.host && settings.port == least.port)
        #expect(((settings.database.path ?? "") as NSString).lastPathComponent == "islet.db")
        #expect(settings.keys.map(\.route.endpoint) == least.keys.map(\.route.endpoint))
        #expect(settings.keys.map(\.route.trustRoots) == least.keys.map(\.route.trustRoots))
    }

    @Test func `with every comment that marks a key taken away, it is a full file`() throws {
        let lines = ConfigurationReference.text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.wholeMatch(of: /( *)#((?:- )?[A-Za-z]+:.*)/).map { "\($0.output.1)\($0.output.2)" } ?? String(line)
        }
        let value = try YAMLText.value(of: lines.joined(separator: "\n"), file: "reference")
        for pointer in EnvironmentNames.all {
            #expect(value[pointer] != nil, "\(pointer)")
            // An example of a list is a list, not a list within a list.
            if pointer.description.hasSuffix("/0") { #expect(value[pointer]?.array == nil, "\(pointer)") }
        }
    }

    @Test(arguments: EnvironmentNames.all) func `every key stands there with its variable`(_ pointer: JSONPointer) {
        let variable = "ISLET_" + EnvironmentNames.name(of: pointer)
        #expect(ConfigurationReference.text.contains("; \(variable))"))
    }

    @Test func `every key has a meaning`() {
        func check(_ keys: [ConfigurationKey], _ path: String) {
            for key in keys {
                #expect(key.meaning.count > 15 && key.meaning.hasSuffix("."), "\(path)/\(key.name)")
                switch key.shape {
                case .text, .scalar, .scalars: continue
                case .object(let keys), .objects(let keys): check(keys, "\(path)/\(key.name)")
                }
            }
        }
        check(ConfigurationKey.file, "")
    }

    @Test(
        arguments: [
            (Duration.seconds(90), "90s"), (.seconds(300), "5m"), (.seconds(3600), "1h"), (.seconds(172_800), "2d"),
            (.zero, "0s"), (.milliseconds(1500), "1.5"),
        ] as [(Duration, String)])
    func `a duration is written as the file takes it`(_ duration: Duration, _ text: String) throws {
        #expect(Wording.duration(duration) == text)
        let settings = try Folder().load(Sample.file(policy: "{startAlert: {title: a}, startGrace: \(text)}"))
        #expect(settings.apps[0].types["Order"]?.policy.startGrace == duration)
    }
}
