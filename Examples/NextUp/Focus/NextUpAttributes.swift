/// The app's own type, as in the app's source: one card "today's focus" for each person.
public struct NextUpAttributes: Codable, Hashable, Sendable {
    /// The part that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The id of the goal that is next.
        public var goal: String
        /// The title of the goal.
        public var title: String
        /// The number of goals that are due today, including this one.
        public var remaining: Int

        /// Creates the whole state. Each push replaces everything of the previous one.
        public init(goal: String, title: String, remaining: Int) {
            self.goal = goal
            self.title = title
            self.remaining = remaining
        }
    }

    /// The person whose focus the card shows.
    public var person: String

    /// Creates the part that is fixed when the activity starts.
    public init(person: String) {
        self.person = person
    }
}

extension NextUpAttributes {
    /// The contract of this type, from `NextUp.json` beside this file. The server checks states against it.
    public static var contract: [UInt8] { PackageResources.NextUp_json }
}
