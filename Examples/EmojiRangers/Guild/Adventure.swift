/// An adventure in the guild's own database.
public struct Adventure: Sendable, Hashable {
    /// The guild's own id. The activity's id at the server is `adventure-` and this.
    public let id: String
    /// The place of the adventure.
    public let place: String
    /// The importance. Of several adventures on one phone the most important is on top.
    public let importance: Double?
    /// `true` for a raid. Its audience is the guild, not only the heroes in it.
    public let isRaid: Bool
    /// The heroes in the adventure.
    public private(set) var party: [Hero]
    /// The party's health, from 0 to 1.
    public private(set) var health = 1.0
    /// The last event.
    public private(set) var story = "The adventure begins"

    /// Creates an adventure that has not begun.
    public init(id: String, place: String, importance: Double? = nil, party: [Hero], isRaid: Bool = false) {
        self.id = id
        self.place = place
        self.importance = importance
        self.party = party
        self.isRaid = isRaid
    }

    /// The content state of the adventure's cards.
    public var state: AdventureAttributes.ContentState {
        AdventureAttributes.ContentState(currentHealthLevel: health, eventDescription: story, party: party)
    }

    /// An event on the way.
    public enum Event: Sendable, Hashable {
        /// An event that can wait until the person has time.
        case found(String, by: Hero)
        /// The party loses health.
        case struck(by: String, damage: Double)
        /// The party has all its health again.
        case healed(by: Hero)
        /// One of them needs help at once.
        case knockedDown(Hero)
    }

    mutating func take(_ event: Event) {
        switch event {
        case .found(let thing, let hero): story = "\(hero.name) found \(thing)!"
        case .struck(let foe, let damage):
            health = max(0, health - damage)
            story = "\(foe) strikes"
        case .healed(let hero):
            health = 1
            story = "\(hero.name) brews a potion"
        case .knockedDown(let hero):
            health = max(0, health - 0.3)
            story = "\(hero.name) is down!"
        }
    }

    mutating func join(_ hero: Hero) {
        guard !party.contains(where: { $0.player == hero.player }) else { return }
        party.append(hero)
        story = "\(hero.name) joins"
    }

    mutating func leave(_ hero: Hero) {
        guard party.contains(where: { $0.player == hero.player }) else { return }
        party.removeAll { $0.player == hero.player }
        story = "\(hero.name) leaves"
    }

    mutating func finish(_ story: String) { self.story = story }
}
