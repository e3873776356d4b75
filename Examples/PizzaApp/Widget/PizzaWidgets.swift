#if canImport(WidgetKit) && !os(macOS)
    import SwiftUI
    import WidgetKit

    // The project sets the condition for the extension's target. On Linux, app and widget are compiled as one module
    // with one `@main`, which is the app's.
    #if WIDGET_EXTENSION
        @main
    #endif
    struct PizzaWidgets: WidgetBundle {
        var body: some Widget { OrderWidget() }
    }
#endif
