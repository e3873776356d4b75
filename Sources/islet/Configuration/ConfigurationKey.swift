/// One key of `islet.yaml`: what may stand there, what holds when nothing does, and what it means.
///
/// The table of all of them (`ConfigurationKey.file`) is what the loader names environment variables by, and what
/// `islet config reference` prints.
struct ConfigurationKey: Sendable {
    let name: String
    let shape: Shape
    let presence: Presence
    /// For people, in a sentence or two; empty for what the keys below it say better.
    let meaning: String

    enum Shape: Sendable {
        /// Text as it is: an id of ten digits stays a text. The string says what kind of text.
        case text(String)
        /// A plain scalar of YAML, such as a number or `true`. The string says which.
        case scalar(String)
        case scalars(String)
        case object([ConfigurationKey])
        case objects([ConfigurationKey])
    }

    enum Presence: Sendable {
        /// It must be there; an example.
        case required(String)
        /// What holds when it is left out.
        case defaulted(String)
        /// Nothing holds when it is left out; an example.
        case optional(String)
        /// An object or a list, which is there when one of its keys is. An optional one may be left out whole.
        case group(isOptional: Bool)
    }

    init(_ name: String, _ shape: Shape, _ presence: Presence, _ meaning: String) {
        self.name = name
        self.shape = shape
        self.presence = presence
        self.meaning = meaning
    }
}
