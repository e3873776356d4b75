/// A key of `islet.yaml`: its allowed values, its default and its meaning.
///
/// The table of all keys is `ConfigurationKey.file`. The loader derives the names of environment variables from it, and
/// `islet config reference` prints it.
struct ConfigurationKey: Sendable {
    let name: String
    let shape: Shape
    let presence: Presence
    /// One or two sentences for people. Empty if the keys below it say it better.
    let meaning: String

    enum Shape: Sendable {
        /// A text taken literally: an id of ten digits stays a text. The string describes the kind of text.
        case text(String)
        /// A plain scalar of YAML, such as a number or `true`. The string describes its values.
        case scalar(String)
        case scalars(String)
        case object([ConfigurationKey])
        case objects([ConfigurationKey])
    }

    enum Presence: Sendable {
        /// A key that must be present, with an example value.
        case required(String)
        /// A key that may be left out, with its default.
        case defaulted(String)
        /// A key that may be left out and has no default, with an example value.
        case optional(String)
        /// An object or a list, which is present if one of its keys is. An optional group may be left out as a whole.
        case group(isOptional: Bool)
    }

    init(_ name: String, _ shape: Shape, _ presence: Presence, _ meaning: String) {
        self.name = name
        self.shape = shape
        self.presence = presence
        self.meaning = meaning
    }
}
