import APNSModel
import EmbeddedIslet
import Foundation
import Logging
import Testing

@testable import islet

/// A server inside another process that delivers its events to an endpoint.
@Suite struct EmbeddedWebhookTests {
    private static let app = BundleID("com.example.pizza").unsafelyUnwrapped
    private static let secret = "whsec_" + String(repeating: "QUJD", count: 8)

    @Test func `endpoints that nothing could be told to are refused, and no secret is quoted`() throws {
        let folder = try Folder()
        func words(_ change: (inout IsletServer.Configuration) -> Void) -> String {
            let kind = IsletServer.Kind("Order", attributesType: "OrderAttributes", startAlert: nil)
            var configuration = IsletServer.Configuration(apps: [Self.app: [kind]], routes: [])
            configuration.database = folder.path("islet.db")
            configuration.webhooks[Self.app] = [
                .init(name: "backend", url: "https://a.example.com/x", secret: Self.secret)
            ]
            change(&configuration)
            do {
                _ = try IsletServer(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
                return "nothing"
            } catch {
                return "\(error)"
            }
        }
        func changed(_ change: (inout IsletServer.Webhook) -> Void) -> String {
            words { configuration in
                if var webhook = configuration.webhooks[Self.app]?.first {
                    change(&webhook)
                    configuration.webhooks[Self.app] = [webhook]
                }
            }
        }
        #expect(changed { $0.name = "two words" }.contains("1 to 64"))
        #expect(changed { $0.url = "http://a.example.com" }.contains("https"))
        #expect(changed { $0.timeout = .seconds(61) }.contains("timeout"))
        let bad = changed { $0.secret = "hunter2-hunter2" }
        #expect(bad.contains("whsec_") && !bad.contains("hunter2"))
        let twice = words {
            $0.webhooks[Self.app]?.append(.init(name: "backend", url: "https://b.c", secret: Self.secret))
        }
        #expect(twice.contains("configured twice"))
        let other = BundleID("com.example.other").unsafelyUnwrapped
        #expect(words { $0.webhooks[other] = $0.webhooks[Self.app] }.contains("there is no app"))
        #expect(words { _ in } == "nothing")
        let printed = IsletServer.Webhook(name: "a", url: "https://b.c", secret: Self.secret)
        #expect(!"\(printed) \(String(reflecting: printed)) \([printed])".contains("QUJD"))
    }

    @Test(arguments: IsletServer.EventKind.allCases) func `the words of events are those of the server`(
        kind: IsletServer.EventKind
    ) {
        #expect(EventRecordNames.all.contains(kind.rawValue))
        #expect(EventRecordNames.all.count == IsletServer.EventKind.allCases.count)
    }
}
