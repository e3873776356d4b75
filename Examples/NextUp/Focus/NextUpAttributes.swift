/// The app's own type, as it stands in the app's source: one "today's focus" card for each person.
public struct NextUpAttributes: Codable, Hashable, Sendable {
    /// The half that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The id of the goal that is next.
        public var goal: String
        /// What it is called.
        public var title: String
        /// How many goals are due today, this one with them.
        public var remaining: Int

        /// The whole state: each push replaces all of the one before.
        public init(goal: String, title: String, remaining: Int) {
            self.goal = goal
            self.title = title
            self.remaining = remaining
        }
    }

    /// Whose focus it is.
    public var person: String

    /// What is fixed when the activity starts.
    public init(person: String) {
        self.person = person
    }
}

extension NextUpAttributes {
    /// The contract of this type, from `NextUp.json` beside it: what the server checks states against.
    public static var contract: [UInt8] { PackageResources.NextUp_json }
}
