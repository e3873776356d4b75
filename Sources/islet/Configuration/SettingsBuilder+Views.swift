import JSONText
import LiveActivityCore

extension SettingsBuilder {
    /// Returns the console's description of a type's cards.
    func view(_ given: ConfigurationFile.View, _ place: String) throws(ConfigurationError) -> CardView {
        let builder = PolicyBuilder(file: file, problems: problems)
        func pointer(_ text: String?, _ name: String) throws(ConfigurationError) -> JSONPointer? {
            guard let text else { return nil }
            return try builder.pointer(text, "\(place)/\(name)")
        }
        var view = CardView()
        view.title = try phrase(given.title, "\(place)/title")
        view.subtitle = try phrase(given.subtitle, "\(place)/subtitle")
        view.image = try phrase(given.image, "\(place)/image")
        view.progress = try pointer(given.progress, "progress")
        view.countdown = try pointer(given.countdown, "countdown")
        return view
    }

    private func phrase(_ text: String?, _ place: String) throws(ConfigurationError) -> Phrase? {
        guard let text else { return nil }
        do throws(AlertTemplateError) { return try Phrase(text) } catch { throw problem(place, "\(error)") }
    }
}
