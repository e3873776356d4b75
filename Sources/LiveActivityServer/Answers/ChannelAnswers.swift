package import APNSModel
package import LiveActivityAPI
package import LiveActivityCore
package import LiveActivityStorage

extension ChannelList {
    /// Creates a page of channels.
    ///
    /// - Parameter apps: The configured apps. Their environments are listed even if they have no channel.
    package init(_ page: ChannelPage, _ counts: [PushRoute: ChannelCounts], of apps: [AppSettings], now: UnixTime) {
        let settings = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
        var routes = Set(counts.keys)
        for app in apps { routes.formUnion(app.environments.map { PushRoute(app.bundleID, $0) }) }
        self.init(
            channels: page.rows.map { ChannelList.Row($0, in: settings[$0.record.app], now: now) },
            routes: routes.sorted().map { ChannelList.Route($0, counts[$0] ?? ChannelCounts()) },
            next: page.next?.cursor)
    }
}

extension ChannelList.Row {
    fileprivate init(_ row: ChannelPage.Row, in app: AppSettings?, now: UnixTime) {
        let channel = row.record
        let standing = ChannelStanding(channel, of: row.activity, in: app, now: now)
        self.init(
            app: channel.app.text, environment: channel.key.environment.rawValue,
            activityNumber: Int(channel.key.activity), run: channel.key.run, state: standing.state.rawValue,
            storage: channel.storage.name, sentRevision: Int(channel.sentRevision), isBehind: standing.isBehind,
            ends: channel.ends, failures: channel.tries)
        activity = row.activity?.id.text
        self.channel = channel.id?.text
        deletesAt = standing.deletesAt.map { Instant($0) }
        revision = standing.revision.map { Int($0) }
        lastTimestamp = channel.timestamp > 0 ? Int(channel.timestamp) : nil
        lastAt = channel.lastAt.map { Instant($0) }
        reason = channel.reason.map(LiveActivityAPI.Reason.init)
        fix = standing.fix
        operation = channel.flight.map { ChannelList.Operation(kind: $0.kind.name, since: Instant($0.claimedAt)) }
        nextLookAt = channel.dueAt.map { Instant($0) }
    }
}

extension ChannelList.Route {
    fileprivate init(_ route: PushRoute, _ counts: ChannelCounts) {
        self.init(
            app: route.app.text, environment: route.environment.rawValue, channels: counts.own,
            foreign: counts.foreign, limit: ChannelCounts.limit, automaticLimit: ClaimChannels.automaticLimit)
    }
}
