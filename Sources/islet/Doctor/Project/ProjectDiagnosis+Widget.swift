// Checks of an app's widget extension.
extension ProjectDiagnosis {
    static func widgets(_ app: ProjectFacts.AppFacts) -> [Finding] {
        let place = Finding.Place(file: app.app.file, line: app.app.line)
        guard !app.widgets.isEmpty else {
            return app.hasUnreadExtension
                ? [] : [Finding(.widgetAbsent, "\(app.app.name) has no widget extension", at: place)]
        }
        guard app.carriesWidgets else {
            return app.widgets.map { widget in
                Finding(
                    .widgetNotEmbedded, "\(app.app.name) does not embed \(widget.name)",
                    at: Finding.Place(file: widget.file, line: widget.line))
            }
        }
        return app.widgets.flatMap { widget in
            let faults = widget.builds.flatMap { build -> [Finding] in
                guard let own = app.app.builds.first(where: { $0.configuration == build.configuration }) else {
                    return []
                }
                return bundleID(build, of: widget, in: own) + systems(build, of: widget, in: own)
            }
            // A fault that is the same in several configurations is reported once.
            var told: [Finding] = []
            for fault in faults where !told.contains(where: { $0.id == fault.id && $0.detail == fault.detail }) {
                told.append(fault)
            }
            return told.isEmpty
                ? [
                    Finding(
                        .widgetGood, "\(app.app.name) embeds \(widget.name)",
                        at: Finding.Place(file: widget.file, line: widget.line))
                ] : told
        }
    }

    private static func bundleID(
        _ build: BuildFacts, of widget: ProjectFacts.TargetFacts, in app: BuildFacts
    ) -> [Finding] {
        guard let id = build.bundleID, let prefix = app.bundleID, !id.hasPrefix(prefix + ".") else { return [] }
        return [
            Finding(
                .widgetBundleID, "\(widget.name) has \(id), and the app has \(prefix)",
                at: build.place("PRODUCT_BUNDLE_IDENTIFIER"))
        ]
    }

    private static func systems(
        _ build: BuildFacts, of widget: ProjectFacts.TargetFacts, in app: BuildFacts
    ) -> [Finding] {
        let place = build.place("IPHONEOS_DEPLOYMENT_TARGET")
        guard let system = build.system else { return [] }
        if system < firstWithCards { return [Finding(.widgetOld, "\(widget.name) is for iOS \(system)", at: place)] }
        guard let own = app.system, system > max(own, firstWithContent) else { return [] }
        return [Finding(.widgetNew, "\(widget.name) needs iOS \(system), and the app needs \(own)", at: place)]
    }
}
