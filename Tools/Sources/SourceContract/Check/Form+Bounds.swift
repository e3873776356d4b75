import JSONText

/// Bounds in schemas. Schemas from source have only the bounds of integer types and ranges; people may have added
/// others.
extension Form {
    /// Returns the bounds that some of the other form's values may exceed.
    func narrowerBounds(than other: Form) -> [String] {
        var narrower: [String] = []
        func check(_ keyword: String, _ holds: (Double) -> Bool) {
            if let bound = bound(keyword), !holds(bound) { narrower.append(keyword) }
        }
        let whole = other.wholeNumbers
        let least = max(other.bound("minimum") ?? -.infinity, whole?.lowerBound ?? -.infinity)
        let most = min(other.bound("maximum") ?? .infinity, whole?.upperBound ?? .infinity)
        let above = other.bound("exclusiveMinimum") ?? -.infinity
        let below = other.bound("exclusiveMaximum") ?? .infinity
        check("minimum") { $0 <= max(least, above) }
        check("exclusiveMinimum") { $0 < least || $0 <= above }
        check("maximum") { $0 >= min(most, below) }
        check("exclusiveMaximum") { $0 > most || $0 >= below }
        for keyword in ["minLength", "minItems", "minProperties"] { check(keyword) { $0 <= other.bound(keyword) ?? 0 } }
        for keyword in ["maxLength", "maxItems", "maxProperties"] {
            check(keyword) { $0 >= other.bound(keyword) ?? .infinity }
        }
        if schema["uniqueItems"] == true, other.schema["uniqueItems"] != true { narrower.append("uniqueItems") }
        if let only = schema["const"], only != other.schema["const"] { narrower.append("const") }
        return narrower
    }

    private func bound(_ keyword: String) -> Double? { schema[keyword]?.double }
}
