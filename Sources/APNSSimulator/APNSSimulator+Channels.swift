public import APNSModel

extension APNSSimulator {
    // MARK: Broadcast channels

    /// The rules of APNs for channels. A change applies to the next call, and ends no channel for being one too many.
    public var channelRules: ChannelRules {
        get { engine.withWorld { world, _ in world.channelRules } }
        set { engine.withWorld { world, _ in world.set(newValue) } }
    }

    /// All channels, by app and environment, in the order in which they were made.
    public var channels: [BroadcastChannel] {
        engine.withWorld { world, _ in world.channels.owners.flatMap { world.channels.broadcastChannels(of: $0) } }
    }

    /// Returns the channels of an app, in the order in which they were made.
    public func channels(of bundleID: BundleID, in environment: APNSEnvironment) -> [BroadcastChannel] {
        engine.withWorld { world, _ in
            world.channels.broadcastChannels(of: ChannelStore.Owner(bundleID: bundleID, environment: environment))
        }
    }

    /// Makes APNs forget a channel while cards are on it. The cards stay and get nothing, and later calls about the
    /// channel get `ChannelNotRegistered`.
    ///
    /// - Throws: `unknownChannel`.
    public func forgetChannel(_ id: ChannelID) throws(SimulatorError) {
        try engine.withWorld { world, _ throws(SimulatorError) in try world.forget(id) }
    }

    /// Gives a phone a token for pushes that are neither notifications nor Live Activities, such as VoIP or widgets.
    ///
    /// APNs checks a push to that token like any other. The push has no visible effect on the phone, but `received`
    /// lists it.
    ///
    /// - Returns: The token, in hexadecimal.
    /// - Throws: `unknownPhone`; `badValue` for a type whose tokens every phone has.
    public func addToken(for type: PushType, on phone: PhoneID) throws(SimulatorError) -> String {
        guard ![.alert, .background, .liveactivity, .mdm].contains(type) else {
            throw SimulatorError(.badValue, "every phone already has tokens for `\(type.rawValue)`")
        }
        return try engine.withWorld { world, _ throws(SimulatorError) in try world.addToken(for: type, on: phone) }
    }
}

extension ChannelStore {
    fileprivate func broadcastChannels(of owner: Owner) -> [BroadcastChannel] {
        list(of: owner).map {
            BroadcastChannel(
                id: $0.id, bundleID: owner.bundleID, environment: owner.environment, policy: $0.policy)
        }
    }
}

extension World {
    mutating func addToken(for type: PushType, on phone: PhoneID) throws(SimulatorError) -> String {
        let profile = try slot(of: phone).phone.profile
        let hex = dice.hex(64)
        directory.tokens.add(
            hex,
            TokenDirectory.Entry(
                phone: phone, use: .other(type), bundleID: profile.bundleID, environment: profile.environment))
        return hex
    }
}
