package import APNSModel

extension AlertTemplate {
    /// Creates a template from the texts of an alert in a call.
    ///
    /// - Throws: `AlertTemplateError` if a text is not a template, or if the title may turn out empty.
    package init(parsing alert: PushAlert) throws(AlertTemplateError) {
        func text(_ text: PushAlert.Text) throws(AlertTemplateError) -> Text {
            switch text {
            case .text(let text): return .text(try Phrase(text))
            case .localized(let key, let arguments):
                var phrases: [Phrase] = []
                for argument in arguments { phrases.append(try Phrase(argument)) }
                return .localized(key: key, arguments: phrases)
            }
        }
        var body: Text?
        if let given = alert.body { body = try text(given) }
        try self.init(title: try text(alert.title), body: body, sound: alert.sound)
    }
}
