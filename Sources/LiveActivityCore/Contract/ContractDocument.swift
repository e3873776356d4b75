import IsletBasics
import JSONText

/// Contract document, split into its parts.
struct ContractDocument {
    let attributesType: String
    let attributes: ContractSchema?
    let contentState: ContractSchema

    private static let members = ["attributesType", "attributes", "contentState"]

    init(_ document: JSONValue) throws(ContractError) {
        guard case .object(let object) = document else {
            throw ContractError(.root, "an object with `attributesType` and `contentState` is expected")
        }
        for key in object.keys where !Self.members.contains(key) && !key.hasPrefix("x-") && key != "$comment" {
            throw ContractError(
                JSONPointer.root.appending(key),
                "no such member: a contract has `attributesType`, `attributes` and `contentState`")
        }
        guard let name = object["attributesType"]?.string, !name.isEmpty else {
            throw ContractError(
                JSONPointer.root.appending("attributesType"),
                "the Swift name of the app's ActivityAttributes type is needed")
        }
        guard let state = object["contentState"] else {
            throw ContractError(
                JSONPointer.root.appending("contentState"), "a JSON Schema of the content state is needed")
        }
        attributesType = name
        contentState = try ContractReader.read(state, at: JSONPointer.root.appending("contentState"))
        attributes = try object["attributes"].map { schema throws(ContractError) in
            try ContractReader.read(schema, at: JSONPointer.root.appending("attributes"))
        }
    }
}

/// Keywords of JSON Schema 2020-12.
///
/// | set | meaning |
/// |---|---|
/// | `checked` | checked against values |
/// | `annotations` | do not affect what fits |
/// | `unsupported` | refused in a contract, because they are not checked |
enum Keywords {
    static let checked: Set<String> = [
        "$ref", "$defs", "anyOf", "oneOf", "type", "enum", "const", "properties", "required", "additionalProperties",
        "minProperties", "maxProperties", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "minimum",
        "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "x-swift",
    ]
    static let annotations: Set<String> = [
        "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format",
        "contentEncoding", "contentMediaType", "contentSchema",
    ]
    static let unsupported: Set<String> = [
        "allOf", "not", "if", "then", "else", "dependentSchemas", "dependentRequired", "patternProperties",
        "propertyNames", "contains", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties",
        "multipleOf", "pattern", "$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary", "definitions",
        "dependencies", "additionalItems", "$recursiveRef", "$recursiveAnchor",
    ]
    /// Keywords that are allowed only at the top of a schema.
    static let atTheTop: Set<String> = ["$schema", "$id"]
    static let dialect = "https://json-schema.org/draft/2020-12/schema"

    /// Checks the names of a schema's members.
    ///
    /// - Throws: `ContractError` for a name that is unsupported, unknown or out of place.
    static func check(_ object: JSONObject, at place: JSONPointer, isTop: Bool) throws(ContractError) {
        for key in object.keys {
            let here = place.appending(key)
            if checked.contains(key) || annotations.contains(key) || (isTop && atTheTop.contains(key)) { continue }
            if key.hasPrefix("x-") { continue }
            if unsupported.contains(key) {
                throw ContractError(
                    here, "this keyword is not supported: the server does not check it, so it refuses the contract")
            }
            if atTheTop.contains(key) {
                throw ContractError(here, "this keyword is allowed only at the top of a schema")
            }
            let near = Spelling.meant(by: key, among: checked.union(annotations).sorted())
            throw ContractError(
                here, "JSON Schema 2020-12 has no such keyword" + (near.map { "; is `\($0)` meant?" } ?? ""))
        }
        if let dialect = object["$schema"] {
            guard [Self.dialect, Self.dialect + "#"].contains(dialect.string) else {
                throw ContractError(place.appending("$schema"), "only \(Self.dialect) is understood")
            }
        }
        try checkSiblings(object, at: place)
    }

    /// Refuses checked keywords beside a reference or an alternative, because their value would be encoded twice.
    private static func checkSiblings(_ object: JSONObject, at place: JSONPointer) throws(ContractError) {
        let leading = ["$ref", "anyOf", "oneOf"].filter { object[$0] != nil }
        guard let first = leading.first else { return }
        let alone = first == "$ref" ? Set<String>() : ["type"]
        let beside = object.keys.first { key in
            key != first && checked.contains(key) && key != "$defs" && !alone.contains(key)
        }
        guard let beside else { return }
        throw ContractError(
            place.appending(beside),
            "this keyword is not allowed beside `\(first)`: put it into what `\(first)` names, or into a schema "
                + "of its own")
    }
}
