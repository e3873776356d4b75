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

        @State private var events: [String] = []

        // Swift's own initializer would be private, like `events`.
        init(client: IsletClient) { self.client = client }

        private var orders: Orders { Orders(client: client) }
        private static var newOrder: String { String(Int.random(in: 10_000...99_999)) }

        var body: some View {
            VStack(alignment: .leading) {
                Button("Order a pizza") {
                    Task { try? await orders.follow(order: Self.newOrder, from: "Roma") }
                }
                Button("Five minutes later") {
                    Task { for order in orders.shown { try? await orders.postpone(order: order, by: 5) } }
                }
                Button("Sign in") { if let user = Backend.user { orders.signIn(user) } }
                Button("Sign out") { orders.signOut() }
                ScrollView { Text(events.joined(separator: "\n")).font(.caption) }
            }
            .padding()
            .onOpenURL { link in Task { try? await orders.open(link) } }
            .task { for await event in client.events { events.insert(event.description, at: 0) } }
        }
    }
#endif
