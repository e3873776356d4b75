import APNSModel
import EmbeddedIslet
import Foundation
import LiveActivityAPI
import LiveActivityCore
import LiveActivityProviders

extension SettingsBuilder {
    /// Returns the endpoints that receive an app's events, and records the problems of the others.
    func webhooks(
        _ given: [ConfigurationFile.Webhook]?, _ place: String, _ app: BundleID
    ) -> [ServerParts.Webhook] {
        var webhooks: [ServerParts.Webhook] = []
        for (number, webhook) in (given ?? []).enumerated() {
            let made = problems.noting { () throws(ConfigurationError) in
                try self.webhook(webhook, "\(place)/\(number)", app, besides: webhooks)
            }
            if let made { webhooks.append(made) }
        }
        return webhooks
    }

    private func webhook(
        _ given: ConfigurationFile.Webhook, _ place: String, _ app: BundleID, besides others: [ServerParts.Webhook]
    ) throws(ConfigurationError) -> ServerParts.Webhook {
        guard ServerParts.Webhook.isName(given.name) else {
            throw problem("\(place)/name", "1 to 64 letters, digits, `-`, `_` and `.`")
        }
        guard !others.contains(where: { $0.key.name == given.name }) else {
            throw problem("\(place)/name", "`\(given.name)` is configured twice")
        }
        let target = try target(
            url: given.url, (given.secretFile, given.secretEnvironment), allowPrivate: given.allowPrivate ?? false,
            timeout: given.timeout?.duration ?? ConfigurationKey.Default.webhookTimeout, place)
        var kinds: Set<EventRecord.Kind>?
        if let names = given.kinds {
            if names.isEmpty {
                throw problem("\(place)/kinds", "an empty list delivers nothing: leave `kinds` out to deliver all")
            }
            kinds = []
            for (index, name) in names.enumerated() {
                guard let kind = EventRecord.Kind(name: name) else {
                    let list = EventRecord.Kind.allCases.map(\.name).joined(separator: ", ")
                    throw problem("\(place)/kinds/\(index)", "a kind is one of \(list)")
                }
                kinds?.insert(kind)
            }
        }
        return ServerParts.Webhook(key: WebhookKey(app, given.name), kinds: kinds, target: target)
    }
}
