// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation

// The part of SwiftUI and UIKit that the example app uses, with Apple's names and shapes as documented. It lets the
// app's source be type-checked where SwiftUI is missing. Nothing is ever drawn.

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError("nothing is drawn") }
}

extension View where Body == Never {
    public var body: Never { fatalError("nothing is drawn") }
}

public struct EmptyView: View {
    public typealias Body = Never

    public nonisolated init() {}
}

public struct TupleView<each Part: View>: View {
    public typealias Body = Never

    init(_ parts: repeat each Part) {}
}

extension Optional: View where Wrapped: View {
    public typealias Body = Never
}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    @MainActor public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<repeat each Content> { TupleView(repeat each content) }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

public struct Font: Sendable {
    public static let headline = Font()
    public static let caption = Font()
}

extension View {
    public func font(_ font: Font?) -> some View { self }
    public func padding() -> some View { self }
    public func onOpenURL(perform action: @escaping (URL) -> Void) -> some View { self }
    public func task(
        priority: TaskPriority = .userInitiated, @_inheritActorContext _ action: @escaping @Sendable () async -> Void
    ) -> some View { self }
}

@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}

    public var wrappedValue: Value {
        get { fatalError("nothing runs") }
        nonmutating set {}
    }
}

public struct Text: View {
    public typealias Body = Never

    public init(_ content: some StringProtocol) {}
}

public struct Image: View {
    public typealias Body = Never

    public init(systemName: String) {}
}

public struct HorizontalAlignment: Sendable {
    public static let leading = HorizontalAlignment()
}

public struct VStack<Content: View>: View {
    public typealias Body = Never

    public init(alignment: HorizontalAlignment, @ViewBuilder content: () -> Content) {}
}

public struct ScrollView<Content: View>: View {
    public typealias Body = Never

    public init(@ViewBuilder content: () -> Content) {}
}

public struct ProgressView<Label: View>: View {
    public typealias Body = Never

    public init(value: (some BinaryFloatingPoint)?, @ViewBuilder label: () -> Label) {}
    public init(value: (some BinaryFloatingPoint)?) where Label == EmptyView {}
}

public struct Button<Label: View>: View {
    public typealias Body = Never

    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) where Label == Text {}
}

// MARK: - The app

@MainActor @preconcurrency public protocol Scene {}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() { _ = Self().body }
}

// MARK: - UIKit

@MainActor public final class UIApplication {
    public struct LaunchOptionsKey: Hashable, Sendable {}

    public func registerForRemoteNotifications() {}
}

public enum UIBackgroundFetchResult: Sendable {
    case newData, noData, failed
}

@MainActor public protocol UIApplicationDelegate: NSObject {
    func application(
        _ application: UIApplication, willFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data)
    func application(
        _ application: UIApplication, didReceiveRemoteNotification message: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}

@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public init(_ type: Delegate.Type = Delegate.self) {}

    public var wrappedValue: Delegate { fatalError("nothing runs") }
}
