#if canImport(SwiftUI) && !os(macOS)
    import Foundation
    import LiveActivityClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    // article: launch
    @main
    struct PizzaApp: App {
        @UIApplicationDelegateAdaptor private var delegate: PizzaDelegate

        var body: some Scene { WindowGroup { OrderView(client: delegate.client) } }
    }

    final class PizzaDelegate: NSObject, UIApplicationDelegate {
        let client = IsletClient(server: Backend.push) { _ in try await Backend.pushCredential() }

        func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            client.track(OrderTrackingAttributes.self, as: "OrderTracking")
            if let user = Backend.user { client.signIn(user: user) }
            Task { await client.run() }
            application.registerForRemoteNotifications()
            return true
        }
    }
    // end

    // article: delegate
    extension PizzaDelegate {
        func application(
            _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
        ) {
            client.setDeviceToken(token)
        }

        func application(
            _ application: UIApplication, didReceiveRemoteNotification message: [AnyHashable: Any]
        ) async -> UIBackgroundFetchResult {
            await client.handleBackgroundPush()
            return .newData
        }
    }
    // end

    struct OrderView: View {
        let client: IsletClient

        var body: some View {
            Button("Order a pizza") { try? Orders(client: client).follow(order: "12345", from: "Roma") }
        }
    }
#endif
