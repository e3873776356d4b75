#if canImport(SwiftUI) && !os(macOS)
    import LiveActivityClient
    import SwiftUI

    #if os(iOS) && !targetEnvironment(macCatalyst)
        import ActivityKit
    #elseif canImport(ActivityKitStandIn)
        import ActivityKitStandIn
    #endif
    #if canImport(UIKit)
        import UIKit
    #endif
    #if canImport(os)
        import os
    #endif

    extension PizzaDelegate {
        /// Listens before the client runs, because there is no view in the background that could.
        func application(
            _ application: UIApplication,
            willFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            EventLog.write("launched; iOS lists \(Activity<OrderTrackingAttributes>.activities.count)")
            let events = client.events
            Task {
                for await event in events { EventLog.write(event.description) }
            }
            return true
        }
    }

    /// Writes the client's events to the phone's log, where Console.app and `log collect` find them.
    enum EventLog {
        static func write(_ line: String) {
            #if canImport(os)
                // No event contains more of a token than its first 8 characters, so nothing needs to be hidden.
                Logger(subsystem: "islet", category: "events").notice("\(line, privacy: .public)")
            #else
                print(line)
            #endif
        }
    }
#endif
