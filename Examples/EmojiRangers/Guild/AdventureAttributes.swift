/// The app's own type, as in the app's source: an adventure on the lock screen of each of its heroes.
public struct AdventureAttributes: Codable, Hashable, Sendable {
    /// The part that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The party's health, from 0 to 1.
        public var currentHealthLevel: Double
        /// The last event.
        public var eventDescription: String
        /// The heroes who are in the adventure now, in the order in which they joined.
        public var party: [Hero]

        /// Creates the whole state. Each push replaces everything of the previous one.
        public init(currentHealthLevel: Double, eventDescription: String, party: [Hero]) {
            self.currentHealthLevel = currentHealthLevel
            self.eventDescription = eventDescription
            self.party = party
        }
    }

    /// The id of the adventure at the server. The server finds the card by it.
    public var adventureID: String
    /// The place of the adventure.
    public var place: String

    /// Creates the part that is fixed when the activity starts.
    public init(adventureID: String, place: String) {
        self.adventureID = adventureID
        self.place = place
    }
}

/// A hero, as every card of the adventure shows them.
public struct Hero: Codable, Hashable, Sendable {
    /// The user of the app who plays the hero.
    public var player: String
    /// The hero's name, such as `Power Panda`.
    public var name: String
    /// The hero's picture, an emoji.
    public var avatar: String

    /// Creates a hero.
    public init(player: String, name: String, avatar: String) {
        self.player = player
        self.name = name
        self.avatar = avatar
    }
}

extension AdventureAttributes {
    /// The contract of this type, from `Adventure.json` beside this file. The server checks states against it.
    public static var contract: [UInt8] { PackageResources.Adventure_json }
}
