internal import Foundation
public import JSONText

/// A stand-in for `ActivityAttributes` on a machine without ActivityKit.
///
/// Declare the app's struct with this protocol instead, and the simulator decodes with it what phones are sent.
public protocol SimulatedActivityAttributes: Codable, Sendable {
    /// The content state, which changes.
    associatedtype ContentState: Codable & Hashable & Sendable
}

/// An activity type of the app on a phone, with its decoder.
public struct InstalledActivityType: Sendable {
    /// The value of `attributes-type` in a start.
    public let name: String
    /// The backend's name of the type. By default it equals `name`.
    public var type: String
    /// Place in the attributes of the activity's id; `nil` uses the backend's tag.
    public var activityIDAttribute: JSONPointer?
    private let attributesMistake: @Sendable (JSONObject) -> String?
    private let contentStateMistake: @Sendable (JSONObject) -> String?

    /// Creates a type that decodes as iOS does, with Foundation's `JSONDecoder` without strategies (Apple, "Starting
    /// and updating Live Activities with ActivityKit push notifications").
    ///
    /// - Parameter name: The `attributes-type`; `nil` uses the Swift name without module.
    public init<Attributes: SimulatedActivityAttributes>(_ type: Attributes.Type, named name: String? = nil) {
        self.name = name ?? String(describing: type)
        self.type = self.name
        attributesMistake = { Self.mistake(decoding: Attributes.self, from: $0) }
        contentStateMistake = { Self.mistake(decoding: Attributes.ContentState.self, from: $0) }
    }

    /// Creates a type of which only the name is known. Any object decodes.
    public init(named name: String) {
        self.name = name
        type = name
        attributesMistake = { _ in nil }
        contentStateMistake = { _ in nil }
    }

    /// Creates a type with the caller's own decoding, such as a contract.
    ///
    /// - Parameters:
    ///   - attributes: Returns the reason the app could not decode these attributes; `nil` if it can.
    ///   - contentState: Returns the reason the app could not decode this content state; `nil` if it can.
    public init(
        named name: String, attributes: @escaping @Sendable (JSONObject) -> String?,
        contentState: @escaping @Sendable (JSONObject) -> String?
    ) {
        self.name = name
        type = name
        attributesMistake = attributes
        contentStateMistake = contentState
    }

    /// Returns the id of the activity that a card shows, if its attributes name it.
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

    /// Returns the reason the app cannot decode these attributes; `nil` if it can.
    func mistake(inAttributes object: JSONObject) -> String? { attributesMistake(object) }

    /// Returns the reason the app cannot decode this content state; `nil` if it can.
    func mistake(inContentState object: JSONObject) -> String? { contentStateMistake(object) }

    private static func mistake<Value: Decodable>(decoding type: Value.Type, from object: JSONObject) -> String? {
        do {
            _ = try JSONDecoder().decode(type, from: Data(JSONValue.object(object).bytes))
            return nil
        } catch {
            return words(for: error)
        }
    }

    /// Describes a decoding error by its place and kind. Foundation's own texts contain values of the payload.
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
