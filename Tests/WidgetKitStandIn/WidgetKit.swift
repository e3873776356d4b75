// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import ActivityKitStandIn
public import Foundation
public import SwiftUI

// The part of WidgetKit that the example's widget uses. See the stand-in for SwiftUI.

@MainActor @preconcurrency public protocol WidgetConfiguration {}

@MainActor @preconcurrency public protocol Widget {
    associatedtype Body: WidgetConfiguration
    var body: Body { get }
    init()
}

@MainActor @preconcurrency public protocol WidgetBundle {
    associatedtype Body: Widget
    @WidgetBundleBuilder var body: Body { get }
    init()
}

extension WidgetBundle {
    public static func main() { _ = Self().body }
}

@resultBuilder public struct WidgetBundleBuilder {
    public static func buildBlock<Content: Widget>(_ content: Content) -> Content { content }
}

public struct ActivityViewContext<Attributes: ActivityAttributes> {
    public let activityID: String
    public let attributes: Attributes
    public let state: Attributes.ContentState
    public let isStale: Bool
}

public struct ActivityConfiguration<Attributes: ActivityAttributes>: WidgetConfiguration {
    public init<Content: View>(
        for type: Attributes.Type, @ViewBuilder content: @escaping (ActivityViewContext<Attributes>) -> Content,
        dynamicIsland: @escaping (ActivityViewContext<Attributes>) -> DynamicIsland
    ) {}
}

public struct DynamicIslandExpandedRegionPosition: Sendable {
    public static let leading = DynamicIslandExpandedRegionPosition()
    public static let trailing = DynamicIslandExpandedRegionPosition()
    public static let center = DynamicIslandExpandedRegionPosition()
    public static let bottom = DynamicIslandExpandedRegionPosition()
}

@MainActor public struct DynamicIslandExpandedRegion<Content: View> {
    public init(
        _ position: DynamicIslandExpandedRegionPosition, priority: Double = 0, @ViewBuilder content: () -> Content
    ) {}
}

public struct DynamicIslandExpandedContent<Content> {}

@resultBuilder public struct DynamicIslandExpandedContentBuilder {
    public static func buildBlock<each Region: View>(
        _ regions: repeat DynamicIslandExpandedRegion<each Region>
    ) -> DynamicIslandExpandedContent<(repeat each Region)> { DynamicIslandExpandedContent() }
}

@MainActor public struct DynamicIsland {
    public init<Expanded, Leading: View, Trailing: View, Minimal: View>(
        @DynamicIslandExpandedContentBuilder expanded: @escaping () -> DynamicIslandExpandedContent<Expanded>,
        @ViewBuilder compactLeading: @escaping () -> Leading,
        @ViewBuilder compactTrailing: @escaping () -> Trailing, @ViewBuilder minimal: @escaping () -> Minimal
    ) {}

    public func widgetURL(_ url: URL?) -> DynamicIsland { self }
}

extension View {
    public func widgetURL(_ url: URL?) -> some View { self }
}
