internal import Foundation
public import JSONText

/// What an app's `ActivityAttributes` type looks like on a machine without ActivityKit: declare the same struct with
/// this protocol instead, and the simulator decodes what it is sent with it.
public protocol SimulatedActivityAttributes: Codable, Sendable {
    /// The half that changes.
    associatedtype ContentState: Codable & Hashable & Sendable
}

/// An activity type that the app on a phone knows, and how it decodes.
public struct InstalledActivityType: Sendable {
    /// What `attributes-type` has to say.
    public let name: String
    /// What the backend calls the type; the same name unless it is said.
    public var type: String
    /// Where the attributes name the activity; else the backend's tag does.
    public var activityIDAttribute: JSONPointer?
    private let attributesMistake: @Sendable (JSONObject) -> String?
    private let contentStateMistake: @Sendable (JSONObject) -> String?

    /// A type that decodes as iOS does: Foundation's `JSONDecoder` without strategies (Apple, "Starting and updating
    /// Live Activities with ActivityKit push notifications").
    ///
    /// - Parameter name: The Swift name without module when `nil`.
    public init<Attributes: SimulatedActivityAttributes>(_ type: Attributes.Type, named name: String? = nil) {
        self.name = name ?? String(describing: type)
        self.type = self.name
        attributesMistake = { Self.mistake(decoding: Attributes.self, from: $0) }
        contentStateMistake = { Self.mistake(decoding: Attributes.ContentState.self, from: $0) }
    }

    /// A type of which only the name is known: any object decodes.
    public init(named name: String) {
        self.name = name
        type = name
        attributesMistake = { _ in nil }
        contentStateMistake = { _ in nil }
    }

    /// A type that decodes as the caller says: by a contract, for instance.
    ///
    /// - Parameters:
    ///   - attributes: Why the app could not decode these attributes; `nil`: it can.
    ///   - contentState: Why the app could not decode this content state; `nil`: it can.
    public init(
        named name: String, attributes: @escaping @Sendable (JSONObject) -> String?,
        contentState: @escaping @Sendable (JSONObject) -> String?
    ) {
        self.name = name
        type = name
        attributesMistake = attributes
        contentStateMistake = contentState
    }

    /// The activity that a card shows, as far as its attributes say so.
    func activity(in attributes: JSONObject) -> String? {
        let value =
            if let pointer = activityIDAttribute { JSONValue.object(attributes)[pointer] } else {
                attributes["islet"]?.object?["activity"]
            }
        switch value {
        case .string(let text): return text
        case .number(let number): return number.canonicalText
        default: return nil
        }
    }

    /// Why the app cannot read these attributes, or `nil`.
    func mistake(inAttributes object: JSONObject) -> String? { attributesMistake(object) }

    /// Why the app cannot read this content state, or `nil`.
    func mistake(inContentState object: JSONObject) -> String? { contentStateMistake(object) }

    private static func mistake<Value: Decodable>(decoding type: Value.Type, from object: JSONObject) -> String? {
        do {
            _ = try JSONDecoder().decode(type, from: Data(JSONValue.object(object).bytes))
            return nil
        } catch {
            return words(for: error)
        }
    }

    /// The place and kind of a decoding error in our own words: Foundation's carry values of the payload.
    private static func words(for error: any Error) -> String {
        guard let error = error as? DecodingError else { return "the type's own decoding refused it" }
        switch error {
        case .keyNotFound(let key, let context):
            return "`\(pointer(context.codingPath + [key]))` is missing"
        case .typeMismatch(let type, let context):
            return "`\(pointer(context.codingPath))`: \(type) expected, another JSON type given"
        case .valueNotFound(let type, let context):
            return "`\(pointer(context.codingPath))`: \(type) expected, null given"
        case .dataCorrupted(let context):
            return "`\(pointer(context.codingPath))` holds a value that the type does not have"
        @unknown default:
            return "undecodable"
        }
    }

    private static func pointer(_ path: [any CodingKey]) -> String {
        path.reduce(JSONPointer.root) { pointer, key in
            key.intValue.map(pointer.appending) ?? pointer.appending(key.stringValue)
        }.description
    }
}
