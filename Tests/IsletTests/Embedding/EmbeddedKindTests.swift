import APNSModel
import EmbeddedIslet
import LiveActivityCore
import Logging
import Testing

/// Activity types of a server inside another process.
@Suite struct EmbeddedKindTests {
    @Test func `a kind's delivery is that of its type, and by token is the default`() throws {
        let app = BundleID("com.example.league").unsafelyUnwrapped
        let folder = try Folder()
        var kinds = [IsletServer.Kind("usual", attributesType: "MatchAttributes", startAlert: nil)]
        for delivery in IsletServer.Kind.Delivery.allCases {
            var kind = IsletServer.Kind(delivery.rawValue, attributesType: "MatchAttributes", startAlert: nil)
            kind.delivery = delivery
            kinds.append(kind)
        }
        var configuration = IsletServer.Configuration(apps: [app: kinds], routes: [])
        configuration.database = folder.path("islet.db")
        let server = try IsletServer(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let types = try #require(server.parts.apps.first).types
        let expected: [String: DeliveryMode] = ["usual": .token, "token": .token, "channel": .channel, "auto": .auto]
        #expect(types.mapValues { $0.policy.delivery } == expected)
        // The folder with the open database is removed with its last use.
        withExtendedLifetime(folder) {}
    }
}
