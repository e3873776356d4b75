#if canImport(WidgetKit) && !os(macOS)
    #if os(iOS) && !targetEnvironment(macCatalyst)
        import ActivityKit
    #endif
    import Foundation
    import SwiftUI
    import WidgetKit

    @available(iOS 16.2, *)
    struct OrderWidget: Widget {
        var body: some WidgetConfiguration {
            ActivityConfiguration(for: OrderTrackingAttributes.self) { context in
                VStack(alignment: .leading) {
                    Text(context.attributes.restaurant).font(.headline)
                    ProgressView(value: context.state.progress) { Text(context.state.status) }
                    if context.isStale { Text("May be out of date").font(.caption) }
                }
                .padding()
                .widgetURL(URL(string: "pizza://orders/\(context.attributes.orderId)"))
            } dynamicIsland: { context in
                DynamicIsland {
                    DynamicIslandExpandedRegion(.leading) { Text(context.attributes.restaurant) }
                    DynamicIslandExpandedRegion(.bottom) { ProgressView(value: context.state.progress) }
                } compactLeading: {
                    Image(systemName: "takeoutbag.and.cup.and.straw")
                } compactTrailing: {
                    Text(context.state.eta.map { "\($0) min" } ?? context.state.status)
                } minimal: {
                    Image(systemName: "takeoutbag.and.cup.and.straw")
                }
                .widgetURL(URL(string: "pizza://orders/\(context.attributes.orderId)"))
            }
        }
    }
#endif
