import APNSModel
import EmbeddedIslet
import Foundation
import LiveActivityAPI
import LiveActivityProviders

extension SettingsBuilder {
    /// Returns the backends that compute an app's states, and records the problems of the others.
    func backends(
        _ activities: [ConfigurationFile.Activity], _ place: String, _ app: BundleID
    ) -> [ServerParts.Backend] {
        activities.enumerated().compactMap { number, activity in
            guard let provider = activity.provider else { return nil }
            let target = problems.noting { () throws(ConfigurationError) in
                try self.target(provider, "\(place)/\(number)/provider")
            }
            return target.map { ServerParts.Backend(app: app, type: activity.type, target: $0) }
        }
    }

    private func target(
        _ given: ConfigurationFile.Provider, _ place: String
    ) throws(ConfigurationError) -> HTTPProvider.Target {
        try target(
            url: given.url, (given.secretFile, given.secretEnvironment), allowPrivate: given.allowPrivate ?? false,
            timeout: given.timeout?.duration ?? ConfigurationKey.Default.providerTimeout, place)
    }

    /// Returns the destination of signed calls.
    func target(
        url: String, _ secret: (file: String?, environment: String?), allowPrivate: Bool, timeout: Duration,
        _ place: String
    ) throws(ConfigurationError) -> HTTPProvider.Target {
        try checkTarget(url, allowPrivate: allowPrivate, place)
        guard let secret = WebhookSecret(try secretText(secret, place)) else {
            throw problem(
                place,
                "the secret is not `\(WebhookSecret.prefix)` and \(WebhookSecret.sizes.lowerBound) to "
                    + "\(WebhookSecret.sizes.upperBound) bytes in base64 (echo whsec_$(openssl rand -base64 32))")
        }
        guard (.milliseconds(100)...(.seconds(60))).contains(timeout) else {
            throw problem("\(place)/timeout", "the timeout must be from 100 ms to 60 s")
        }
        return HTTPProvider.Target(url: url, secret: secret, timeout: timeout, allowPrivate: allowPrivate)
    }

    /// Checks that the server may call a URL.
    ///
    /// - Throws: A problem at `place/url`.
    func checkTarget(_ url: String, allowPrivate: Bool, _ place: String) throws(ConfigurationError) {
        guard !HTTPProvider.isAllowed(url, allowPrivate: allowPrivate) else { return }
        throw problem(
            "\(place)/url",
            "the URL must be an https URL with a host and no user"
                + (allowPrivate ? ", or an http one" : "; plain http needs `allowPrivate: true`"))
    }

    /// Returns the text of a secret. Errors do not quote the file or variable where it may be the secret itself.
    private func secretText(
        _ given: (file: String?, environment: String?), _ place: String
    ) throws(ConfigurationError) -> String {
        switch given {
        case (let path?, nil):
            guard !path.hasPrefix(WebhookSecret.prefix) else {
                throw problem("\(place)/secretFile", "give the path of a file with the secret, not the secret itself")
            }
            guard let data = FileManager.default.contents(atPath: resolve(path)) else {
                throw problem("\(place)/secretFile", "`\(path)` cannot be read")
            }
            return String(decoding: data, as: UTF8.self)
        case (nil, let name?):
            guard Self.isVariable(name) else {
                throw problem(
                    "\(place)/secretEnvironment", "give the name of an environment variable, not the secret itself")
            }
            guard let text = environment[name], !text.isEmpty else {
                throw problem("\(place)/secretEnvironment", "the environment variable \(name) is not set")
            }
            return text
        default:
            throw problem(place, "give the secret either as secretFile or as secretEnvironment")
        }
    }
}
