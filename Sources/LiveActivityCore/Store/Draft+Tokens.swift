package import APNSModel

/// Release of a token value by one holder. It applies only if that holder owns the value when the release is written.
package struct TokenRelease: Sendable, Hashable {
    package var value: Snapshot.OwnerKey
    package var device: DeviceKey
    /// Activity of an update token; `nil` for a token of the device itself.
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

    /// Removes the update token of a phone.
    ///
    /// - Parameter app: App of the token, for callers that may not have loaded the activity.
    package mutating func removeUpdateToken(_ key: Snapshot.PhoneKey, of app: BundleID? = nil, at now: UnixTime) {
        guard let old = erase(key, \.updateTokens, \.updateTokens, removed: \.removedUpdateTokens),
            let app = app ?? snapshot.activities[key.activity]?.app
        else { return }
        for value in old.values { release(value, in: app, key, at: now) }
    }

    package mutating func put(_ owner: TokenOwnerRecord) {
        write(owner, at: owner.key, \.owners, \.owners)
    }

    // MARK: - Owners of token values

    /// Records that a card no longer has this value. The owner's record is kept for `TokenOwnerRecord.keptFor`.
    mutating func release(_ value: TokenValue, in app: BundleID, _ phone: Snapshot.PhoneKey, at now: UnixTime) {
        release(TokenRelease(value: .init(app, value), device: phone.device, activity: phone.activity), at: now)
    }

    /// Records that a device's token has another value now. One value may serve several types, so the value counts as
    /// released only when no token holds it.
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
        // The writer finds out whether the holder is the owner.
        let old = changes.releases.updateValue(now, forKey: release)
        onRefusal { draft in draft.changes.releases[release] = old }
    }

    /// Records that a card's token now has these values.
    mutating func hold(_ token: UpdateTokenRecord, _ old: UpdateTokenRecord?) {
        guard let app = snapshot.activities[token.activity]?.app else { return }
        for value in token.values where old?.values.contains(value) != true {
            let key = Snapshot.OwnerKey(app, value)
            let release = TokenRelease(value: key, device: token.device, activity: token.activity)
            if let time = changes.releases.removeValue(forKey: release) {
                onRefusal { draft in draft.changes.releases[release] = time }
            }
            // If another holder owns the value by now, its record stays as it is.
            guard var owner = snapshot.owners[key], release.isOf(owner), owner.releasedAt != nil else { continue }
            owner.releasedAt = nil
            put(owner)
        }
    }
}

extension UpdateTokenRecord {
    /// Values that the record holds: its own, and that of the card that this card replaced.
    package var values: Set<TokenValue> { Set([value, predecessor].compactMap(\.self)) }
}
