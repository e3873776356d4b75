// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public struct AlertConfiguration: Equatable, Sendable {
    public struct AlertSound: Equatable, Sendable {
        let name: String?

        public static let `default` = AlertSound(name: nil)
        public static func named(_ name: String) -> AlertSound { AlertSound(name: name) }
    }

    public let title: LocalizedStringResource
    public let body: LocalizedStringResource
    public let sound: AlertSound

    public init(title: LocalizedStringResource, body: LocalizedStringResource, sound: AlertSound) {
        (self.title, self.body, self.sound) = (title, body, sound)
    }
}

/// Stand-in for Foundation's type, which only Apple's systems have.
public struct LocalizedStringResource: Equatable, Sendable, ExpressibleByStringLiteral {
    public let key: String

    public init(stringLiteral value: String) { key = value }
}

public enum ActivityStyle {
    case standard, transient
}
