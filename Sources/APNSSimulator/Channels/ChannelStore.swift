internal import APNSModel

/// The broadcast channels that APNs knows, for each app and environment, in the order in which they were made.
struct ChannelStore: Sendable {
    /// The owner of channels: an app in an environment.
    struct Owner: Sendable, Hashable {
        let bundleID: BundleID
        let environment: APNSEnvironment
    }

    struct Channel: Sendable {
        let id: ChannelID
        let policy: MessageStoragePolicy
        /// The most recent message, for phones that were offline when it was sent.
        var stored: StoredBroadcast?
    }

    struct StoredBroadcast: Sendable {
        let push: DevicePush
        let until: UnixTime
        /// Number of the broadcast, in the order in which APNs accepted them.
        let number: Int
    }

    private var channels: [Owner: [Channel]] = [:]

    /// The owners of channels, by app and environment.
    var owners: [Owner] {
        channels.keys.sorted {
            ($0.bundleID.text, $0.environment.rawValue) < ($1.bundleID.text, $1.environment.rawValue)
        }
    }

    func list(of owner: Owner) -> [Channel] { channels[owner] ?? [] }

    /// Returns the owner of a channel; `nil` if there is no such channel.
    func owner(of id: ChannelID) -> Owner? {
        channels.first { entry in entry.value.contains { $0.id == id } }?.key
    }

    subscript(id: ChannelID, owner: Owner) -> Channel? {
        channels[owner]?.first { $0.id == id }
    }

    /// Adds a channel, and returns `false` if the owner has the maximum already.
    mutating func add(_ channel: Channel, to owner: Owner, atMost maximum: Int) -> Bool {
        guard list(of: owner).count < maximum else { return false }
        channels[owner, default: []].append(channel)
        return true
    }

    /// Removes a channel, and returns `false` if there is no such channel.
    mutating func remove(_ id: ChannelID, of owner: Owner) -> Bool {
        guard let index = channels[owner]?.firstIndex(where: { $0.id == id }) else { return false }
        channels[owner]?.remove(at: index)
        return true
    }

    /// Removes the channels of all other apps.
    mutating func keep(of apps: Set<BundleID>) {
        channels = channels.filter { apps.contains($0.key.bundleID) }
    }

    /// Stores a message, and returns `false` if the channel is gone or has stored a newer one.
    mutating func store(_ message: StoredBroadcast, in id: ChannelID, of owner: Owner) -> Bool {
        guard let index = channels[owner]?.firstIndex(where: { $0.id == id }) else { return false }
        if let stored = channels[owner]?[index].stored, stored.number > message.number { return false }
        channels[owner]?[index].stored = message
        return true
    }
}
