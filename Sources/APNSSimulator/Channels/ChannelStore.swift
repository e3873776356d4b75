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
    }

    /// Maximum number of channels of one owner.
    let capacity: Int
    private var channels: [Owner: [Channel]] = [:]

    init(capacity: Int) {
        self.capacity = capacity
    }

    func list(of owner: Owner) -> [Channel] { channels[owner] ?? [] }

    subscript(id: ChannelID, owner: Owner) -> Channel? {
        channels[owner]?.first { $0.id == id }
    }

    /// Adds a channel, and returns `false` if the owner has the maximum already.
    mutating func add(_ channel: Channel, to owner: Owner) -> Bool {
        guard list(of: owner).count < capacity else { return false }
        channels[owner, default: []].append(channel)
        return true
    }

    /// Removes a channel, and returns `false` if there is no such channel.
    mutating func remove(_ id: ChannelID, of owner: Owner) -> Bool {
        guard let index = channels[owner]?.firstIndex(where: { $0.id == id }) else { return false }
        channels[owner]?.remove(at: index)
        return true
    }

    mutating func store(_ message: StoredBroadcast, in id: ChannelID, of owner: Owner) {
        guard let index = channels[owner]?.firstIndex(where: { $0.id == id }) else { return }
        channels[owner]?[index].stored = message
    }
}
