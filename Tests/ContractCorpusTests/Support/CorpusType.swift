import Foundation
import JSONText
import LiveActivityCore
import Testing

/// An attributes type of the corpus, the contract made from its source, and JSON that fits.
struct CorpusType: CustomTestStringConvertible, Sendable {
    let name: String
    let halves: [Half]

    var testDescription: String { name }

    /// Attributes or content state.
    struct Half: Sendable {
        let member: String
        let samples: [String]
        /// Returns the value that a phone has after it received this one, as it would report it; `nil` if it cannot
        /// decode it.
        let decoded: @Sendable (JSONValue) -> JSONValue?

        init<Value: Codable & SendableMetatype>(_ type: Value.Type, _ member: String, _ samples: [String]) {
            self.member = member
            self.samples = samples
            decoded = { value in
                guard let held = try? JSONDecoder().decode(type, from: Data(value.bytes)),
                    let written = try? JSONEncoder().encode(held)
                else { return nil }
                return try? JSONValue(parsing: written)
            }
        }
    }

    init<Attributes: ActivityAttributes & SendableMetatype>(
        _ type: Attributes.Type, _ states: String..., attributes: String = #"{"order": "7"}"#
    ) where Attributes.ContentState: SendableMetatype {
        self.init(type, stateType: Attributes.ContentState.self, states, attributes: attributes)
    }

    init<Attributes: Codable & SendableMetatype, State: Codable & SendableMetatype>(
        _ type: Attributes.Type, stateType: State.Type, _ states: [String], attributes: String
    ) {
        name = "\(type)"
        halves = [Half(type, "attributes", [attributes]), Half(stateType, "contentState", states)]
    }

    /// The folder of the contracts. `script/contract --corpus` rewrites them.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Contracts")

    func document() throws -> JSONValue {
        try JSONValue(parsing: Data(contentsOf: Self.folder.appending(path: "\(name).json")))
    }
}
