internal import Dispatch
package import Foundation
package import LiveActivityAPI
internal import LiveActivityRegistration

#if os(iOS) && !targetEnvironment(macCatalyst)
    internal import ActivityKit
#elseif canImport(ActivityKitStandIn)
    internal import ActivityKitStandIn
#endif
#if os(iOS)
    internal import UIKit
    internal import UserNotifications
#endif
#if canImport(Network)
    internal import Network
#endif

/// The phone that the app runs on.
struct DevicePhone: PhonePort {
    private let environment: DeviceRequest.Environment?
    /// The environment that the app's profile names, once it was read. It is not read at launch, because the main actor
    /// waits for that.
    private let found = Locked<DeviceRequest.Environment?>(nil)
    private let appVersion: String?
    private let build: String?
    private let authorization = Locked<DeviceRequest.NotificationAuthorization?>(nil)
    #if os(iOS)
        /// The app's way to and from the screen. It is observed from the start, because the app may come to the screen
        /// before its memory is read.
        private let screen = Self.screen()
    #endif

    /// - Parameter app: The app's `Info.plist`.
    init(environment: DeviceRequest.Environment?, app: [String: Any]? = Bundle.main.infoDictionary) {
        self.environment = environment
        appVersion = app?["CFBundleShortVersionString"] as? String
        build = app?["CFBundleVersion"] as? String
    }

    func facts() -> DeviceRequest {
        var facts = DeviceRequest(user: "")
        facts.platform = .ios
        facts.timeZone = TimeZone.current.identifier
        facts.locale = Locale.current.identifier.split(separator: "@").first.map {
            $0.replacingOccurrences(of: "_", with: "-")
        }
        let version = ProcessInfo.processInfo.operatingSystemVersion
        facts.osVersion = "\(version.majorVersion).\(version.minorVersion)"
        facts.appVersion = appVersion
        facts.build = build
        facts.model = Self.model
        facts.environment = environment ?? foundEnvironment
        facts.notificationAuthorization = authorization.withLock(\.self)
        (facts.activitiesEnabled, facts.frequentPushesEnabled) = Self.switches
        facts.channels = Self.hasChannels ? true : nil
        return facts
    }

    private var foundEnvironment: DeviceRequest.Environment {
        if let known = found.withLock(\.self) { return known }
        let environment = APNSEnvironmentFinder.environment()
        found.withLock { $0 = environment }
        return environment
    }

    private static var hasChannels: Bool {
        #if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
            if #available(iOS 18.0, *) { return true }
        #endif
        return false
    }

    private static var switches: (activities: Bool?, frequent: Bool?) {
        #if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
            if #available(iOS 16.1, *) {
                let info = ActivityAuthorizationInfo()
                if #available(iOS 16.2, *) { return (info.areActivitiesEnabled, info.frequentPushesEnabled) }
                return (info.areActivitiesEnabled, nil)
            }
        #endif
        return (false, nil)
    }

    /// The model, such as `iPhone17,1`. In Apple's simulator it is the simulated model.
    private static var model: String? {
        if let simulated = ProcessInfo.processInfo.environment["SIMULATOR_MODEL_IDENTIFIER"] { return simulated }
        #if canImport(Darwin)
            var name = utsname()
            guard uname(&name) == 0 else { return nil }
            return withUnsafeBytes(of: &name.machine) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        #else
            return nil
        #endif
    }

    func stayAwake(expired: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        #if os(iOS)
            // Unlike a background task of `UIApplication` this is available in extensions too. The system calls the
            // block on a thread of its own, and once more when the time is over.
            let isDone = DispatchSemaphore(value: 0)
            ProcessInfo.processInfo.performExpiringActivity(withReason: "Live Activities") { isExpired in
                guard isExpired else { return isDone.wait() }
                expired()
                isDone.signal()
            }
            return { isDone.signal() }
        #else
            return {}
        #endif
    }

    // MARK: - Listening

    func observe(_ tell: @escaping @Sendable (PhoneNews) -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            #if (os(iOS) && !targetEnvironment(macCatalyst)) || canImport(ActivityKitStandIn)
                group.addTask {
                    guard #available(iOS 16.1, *) else { return }
                    let updates = ActivityAuthorizationInfo().activityEnablementUpdates
                    tell(.factsChanged)
                    for await _ in updates { tell(.factsChanged) }
                }
                group.addTask {
                    guard #available(iOS 16.2, *) else { return }
                    let updates = ActivityAuthorizationInfo().frequentPushEnablementUpdates
                    tell(.factsChanged)
                    for await _ in updates { tell(.factsChanged) }
                }
            #endif
            #if canImport(Network)
                group.addTask { await self.followNetwork(tell) }
            #endif
            #if os(iOS)
                group.addTask {
                    for await isOnScreen in self.screen { tell(.foreground(isOnScreen)) }
                }
                group.addTask {
                    await self.readAuthorization(tell)
                    await self.follow(UIApplication.didBecomeActiveNotification) { await self.readAuthorization(tell) }
                }
                group.addTask { await self.follow(.NSSystemTimeZoneDidChange) { tell(.factsChanged) } }
                group.addTask { await self.follow(NSLocale.currentLocaleDidChangeNotification) { tell(.factsChanged) } }
            #endif
        }
    }

    #if canImport(Network)
        private func followNetwork(_ tell: @escaping @Sendable (PhoneNews) -> Void) async {
            let (reachable, input) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
            let monitor = NWPathMonitor()
            monitor.pathUpdateHandler = { input.yield($0.status == .satisfied) }
            monitor.start(queue: DispatchQueue(label: "islet-client-network"))
            defer { monitor.cancel() }
            for await isReachable in reachable where isReachable { tell(.networkBack) }
        }
    #endif

    #if os(iOS)
        /// Returns a stream of whether the app is on the screen, in the order of the changes, for one listener.
        private static func screen() -> AsyncStream<Bool> {
            let (screen, input) = AsyncStream.makeStream(of: Bool.self)
            for (name, isOnScreen) in [
                (UIApplication.didBecomeActiveNotification, true),
                (UIApplication.didEnterBackgroundNotification, false),
            ] {
                // The observers live as long as the app, as its client does.
                _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
                    input.yield(isOnScreen)
                }
            }
            return screen
        }

        private func follow(_ name: Notification.Name, _ body: @Sendable () async -> Void) async {
            for await _ in NotificationCenter.default.notifications(named: name).map({ _ in () }) { await body() }
        }

        private func readAuthorization(_ tell: @Sendable (PhoneNews) -> Void) async {
            let status = await UNUserNotificationCenter.current().notificationSettings().authorizationStatus
            let known: DeviceRequest.NotificationAuthorization? =
                switch status {
                case .notDetermined: .notDetermined
                case .denied: .denied
                case .authorized: .authorized
                case .provisional: .provisional
                case .ephemeral: .ephemeral
                @unknown default: nil
                }
            let isNew = authorization.withLock { held in
                defer { held = known }
                return held != known
            }
            if isNew { tell(.factsChanged) }
        }
    #endif
}

/// Finds out which of Apple's push services the app's tokens belong to.
package enum APNSEnvironmentFinder {
    /// Returns the sandbox for Apple's simulator and development builds, and production otherwise. The App Store
    /// removes the profile.
    package static func environment() -> DeviceRequest.Environment {
        #if targetEnvironment(simulator)
            return .sandbox
        #else
            guard let url = Bundle.main.url(forResource: "embedded", withExtension: "mobileprovision"),
                let profile = try? Data(contentsOf: url)
            else { return .production }
            return environment(ofProfile: profile) ?? .production
        #endif
    }

    /// Returns the value of `aps-environment` in a provisioning profile, which is a property list inside a signed
    /// envelope.
    package static func environment(ofProfile profile: Data) -> DeviceRequest.Environment? {
        guard let start = profile.range(of: Data("<?xml".utf8)),
            let end = profile.range(of: Data("</plist>".utf8), in: start.lowerBound..<profile.endIndex),
            let list = try? PropertyListSerialization.propertyList(
                from: profile[start.lowerBound..<end.upperBound], format: nil) as? [String: Any],
            let entitlements = list["Entitlements"] as? [String: Any]
        else { return nil }
        switch entitlements["aps-environment"] as? String {
        case "development": return .sandbox
        case "production": return .production
        default: return nil
        }
    }
}
