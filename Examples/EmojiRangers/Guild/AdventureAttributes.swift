/// The app's own type, as it stands in the app's source: an adventure on the lock screen of each hero in it.
public struct AdventureAttributes: Codable, Hashable, Sendable {
    /// The half that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The party's health, from 0 to 1.
        public var currentHealthLevel: Double
        /// What happened last.
        public var eventDescription: String
        /// Everybody in the adventure at present, in the order in which they came.
        public var party: [Hero]

        /// The whole state: each push replaces all of the one before.
        public init(currentHealthLevel: Double, eventDescription: String, party: [Hero]) {
            self.currentHealthLevel = currentHealthLevel
            self.eventDescription = eventDescription
            self.party = party
        }
    }

    /// The server's name of the adventure: by it the card is found again.
    public var adventureID: String
    /// Where it takes place.
    public var place: String

    /// What is fixed when the activity starts.
    public init(adventureID: String, place: String) {
        self.adventureID = adventureID
        self.place = place
    }
}

/// A hero, as every card of the adventure shows them.
public struct Hero: Codable, Hashable, Sendable {
    /// Who plays them: a user of the app.
    public var player: String
    /// `Power Panda`.
    public var name: String
    /// The picture, which is an emoji.
    public var avatar: String

    /// A hero and who plays them.
    public init(player: String, name: String, avatar: String) {
        self.player = player
        self.name = name
        self.avatar = avatar
    }
}

extension AdventureAttributes {
    /// The contract of this type, from `Adventure.json` beside it: what the server checks states against.
    public static var contract: [UInt8] { PackageResources.Adventure_json }
}
