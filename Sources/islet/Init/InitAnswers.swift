import APNSModel
import Foundation
import LiveActivityCore

/// The facts that `islet init` writes into a configuration.
struct InitAnswers: Equatable {
    var bundleID: String
    var key: Key
    var kind: Kind
    var listen = ConfigurationKey.Default.listen
    var storage = ConfigurationKey.Default.storage

    /// The signer of the pushes.
    enum Key: Equatable {
        case apple(AppleKey)
        /// The key of `islet simulate`, which takes the pushes in Apple's place.
        case simulator
    }

    /// A key of Apple's developer portal.
    struct AppleKey: Equatable {
        /// Path of the `.p8` file.
        var file: String
        var keyID: String
        var teamID: String
        var environment: APNSEnvironment
    }

    /// A type of Live Activity.
    struct Kind: Equatable {
        /// Name in the HTTP API.
        var type: String
        /// Name of the Swift type.
        var attributesType: String
        /// Alert of a start by push; `nil`: only the app starts a card.
        var startAlert: StartAlert?
        /// Place of the activity's id in the attributes, as a JSON Pointer.
        var activityIDAttribute: String?
    }

    struct StartAlert: Equatable {
        var title: String
        var body: String?
    }

    /// The app of the simulated phones, for people without an app of their own.
    static let example = InitAnswers(
        bundleID: "com.example.pizza", key: .simulator,
        kind: Kind(
            type: "OrderTracking", attributesType: "OrderTrackingAttributes",
            startAlert: StartAlert(title: "Your order", body: "Follow it here"), activityIDAttribute: "/orderId"))
}

// MARK: - From answers in words

extension InitAnswers {
    /// Returns the bundle ID of an answer.
    static func bundleID(_ text: String) throws(CommandError) -> String {
        guard let id = BundleID(text) else { throw CommandError("`\(text)` is not a bundle id such as com.acme.pizza") }
        return id.text
    }

    /// Returns the key of an answer: `FILE [KEY-ID] TEAM-ID ENVIRONMENT`, or `simulator`.
    ///
    /// The path may have blanks, because the other words are read from the end.
    static func key(words line: String) throws(CommandError) -> Key {
        var words = line.split(whereSeparator: \.isWhitespace).map { String($0) }
        if words == ["simulator"] { return .simulator }
        guard words.count >= 3 else {
            throw CommandError("three words are needed: the .p8 file, the team id, and sandbox or production")
        }
        let environment = words.removeLast()
        let teamID = words.removeLast()
        let named = keyID(ofFile: words.joined(separator: " "))
        let keyID = named == nil && words.count > 1 ? words.removeLast() : nil
        return .apple(
            try appleKey(
                file: words.joined(separator: " "), keyID: keyID, teamID: teamID, environment: environment))
    }

    /// Returns a key from its parts.
    ///
    /// - Parameter keyID: Id of the key; `nil` to take it from the file's name.
    static func appleKey(
        file: String, keyID: String?, teamID: String, environment: String
    ) throws(CommandError) -> AppleKey {
        guard !file.contains("-----BEGIN"), !file.contains(where: \.isNewline) else {
            throw CommandError("give the path of the .p8 file, not its text")
        }
        guard let keyID = keyID ?? Self.keyID(ofFile: file) else {
            throw CommandError("`\(file)` does not have the key id in its name: give the ten characters of the key too")
        }
        guard let environment = APNSEnvironment(rawValue: environment) else {
            throw CommandError("`\(environment)` is neither sandbox nor production")
        }
        return AppleKey(file: file, keyID: keyID, teamID: teamID, environment: environment)
    }

    /// Returns the key id in a name that Apple gives to a file: `AuthKey_ABC123DEFG.p8`.
    static func keyID(ofFile path: String) -> String? {
        guard let match = path.firstMatch(of: /(?:^|\/)AuthKey_([0-9A-Za-z]{10})\.p8$/) else { return nil }
        return String(match.1)
    }

    /// Returns the type of an answer: the name of its Swift type, and the title of the alert if pushes start it.
    static func kind(words line: String) throws(CommandError) -> Kind {
        guard let first = line.split(whereSeparator: \.isWhitespace).first else {
            throw CommandError("the name of the Swift type is needed, such as OrderTrackingAttributes")
        }
        let title = line[first.endIndex...].drop(while: \.isWhitespace)
        return try kind(
            type: nil, attributesType: String(first),
            startAlert: title.isEmpty ? nil : StartAlert(title: String(title), body: nil))
    }

    /// Returns a type from its parts.
    ///
    /// - Parameter type: Name in the HTTP API; `nil` for the Swift type's without `Attributes` at its end.
    static func kind(
        type: String?, attributesType: String, startAlert: StartAlert?
    ) throws(CommandError) -> Kind {
        let suffix = "Attributes"
        let isLong = attributesType.hasSuffix(suffix) && attributesType != suffix
        let type = type ?? (isLong ? String(attributesType.dropLast(suffix.count)) : attributesType)
        for text in [type, attributesType, startAlert?.title ?? "", startAlert?.body ?? ""]
        where text.contains(where: \.isNewline) {
            throw CommandError("a name or a text of an alert is one line")
        }
        if let startAlert {
            do throws(AlertTemplateError) {
                var body: AlertTemplate.Text?
                if let text = startAlert.body { body = .text(try Phrase(text)) }
                _ = try AlertTemplate(title: .text(try Phrase(startAlert.title)), body: body)
            } catch {
                throw CommandError("the alert of the start: \(error)")
            }
        }
        return Kind(type: type, attributesType: attributesType, startAlert: startAlert)
    }
}
