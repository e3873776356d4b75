#if canImport(SwiftUI) && !os(macOS)
    import Foundation
    import LiveActivityClient
    import SwiftUI

    #if canImport(UIKit)
        import UIKit
    #endif

    @main
    struct PizzaApp: App {
        @UIApplicationDelegateAdaptor private var delegate: PizzaDelegate

        var body: some Scene {
            WindowGroup {
                Button("Order a pizza") { try? delegate.orders.follow(order: "12345", from: "Roma") }
            }
        }
    }

    final class PizzaDelegate: NSObject, UIApplicationDelegate {
        let orders = Orders(server: URL(string: "https://push.example.com") ?? URL(fileURLWithPath: "/")) {
            // Asks the shop's own backend, with the person's session.
            throw URLError(.userAuthenticationRequired)
        }

        func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            // Here, not when a view appears: a push launches the app in the background and gives it seconds.
            Task { await orders.run() }
            orders.client.signIn(user: "ada")
            application.registerForRemoteNotifications()
            return true
        }

        func application(
            _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
        ) {
            orders.client.setDeviceToken(token)
        }

        func application(
            _ application: UIApplication, didReceiveRemoteNotification message: [AnyHashable: Any]
        ) async -> UIBackgroundFetchResult {
            await orders.client.handleBackgroundPush()
            return .newData
        }
    }
#endif
