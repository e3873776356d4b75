package import APNSModel

/// Which holder let go of a token value. It counts for who owns the value then, and for nobody else.
package struct TokenRelease: Sendable, Hashable {
    package var value: Snapshot.OwnerKey
    package var device: DeviceKey
    /// The activity of an update token; `nil`: a token of the device itself.
    package var activity: ActivityNumber?

    package func isOf(_ owner: TokenOwnerRecord) -> Bool {
        owner.deadAt == nil && owner.device == device && activity.map { $0 == owner.activity } ?? true
    }
}

extension Draft {
    package mutating func put(_ token: UpdateTokenRecord) {
        let key = Snapshot.PhoneKey(token.activity, token.device)
        hold(token, snapshot.updateTokens[key])
        write(token, at: key, \.updateTokens, \.updateTokens, removed: \.removedUpdateTokens)
    }

    /// - Parameter app: Whose tokens they are, where the activity may not be loaded.
    package mutating func removeUpdateToken(_ key: Snapshot.PhoneKey, of app: BundleID? = nil, at now: UnixTime) {
        guard let old = erase(key, \.updateTokens, \.updateTokens, removed: \.removedUpdateTokens),
            let app = app ?? snapshot.activities[key.activity]?.app
        else { return }
        for value in old.values { release(value, in: app, key, at: now) }
    }

    package mutating func put(_ owner: TokenOwnerRecord) {
        write(owner, at: owner.key, \.owners, \.owners)
    }

    // MARK: - Who has a value

    /// A card has this value no more: what is known of it is kept for a while (`TokenOwnerRecord.keptFor`).
    mutating func release(_ value: TokenValue, in app: BundleID, _ phone: Snapshot.PhoneKey, at now: UnixTime) {
        release(TokenRelease(value: .init(app, value), device: phone.device, activity: phone.activity), at: now)
    }

    /// A device's token gives way to another value. One value may serve several types.
    mutating func release(_ token: DeviceTokenRecord, in app: BundleID, at now: UnixTime) {
        let isHeld = tokens(of: token.device).contains { snapshot.deviceTokens[$0]?.value == token.value }
        guard !isHeld else { return }
        release(TokenRelease(value: .init(app, token.value), device: token.device), at: now)
    }

    private mutating func release(_ release: TokenRelease, at now: UnixTime) {
        if var owner = snapshot.owners[release.value] {
            guard release.isOf(owner) else { return }
            owner.releasedAt = now
            return put(owner)
        }
        // Whether it is the owner shows when this is written.
        let old = changes.releases.updateValue(now, forKey: release)
        onRefusal { draft in draft.changes.releases[release] = old }
    }

    /// A card's token has these values now.
    mutating func hold(_ token: UpdateTokenRecord, _ old: UpdateTokenRecord?) {
        guard let app = snapshot.activities[token.activity]?.app else { return }
        for value in token.values where old?.values.contains(value) != true {
            let key = Snapshot.OwnerKey(app, value)
            let release = TokenRelease(value: key, device: token.device, activity: token.activity)
            if let time = changes.releases.removeValue(forKey: release) {
                onRefusal { draft in draft.changes.releases[release] = time }
            }
            // Whoever has the value by now keeps what is noted of it.
            guard var owner = snapshot.owners[key], release.isOf(owner), owner.releasedAt != nil else { continue }
            owner.releasedAt = nil
            put(owner)
        }
    }
}

extension UpdateTokenRecord {
    /// What it holds: its own value, and that of the card that its card took the place of.
    package var values: Set<TokenValue> { Set([value, predecessor].compactMap(\.self)) }
}
