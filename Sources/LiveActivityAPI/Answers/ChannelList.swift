/// The answer of `GET /v1/channels`: the broadcast channels that the server has, those of the newest activities first.
public struct ChannelList: Sendable, Hashable, Codable {
    /// The channels of one page.
    public var channels: [Row]
    /// The numbers of channels in each environment.
    public var routes: [Route]
    /// The cursor of the next page. `nil` if this is the last page.
    public var next: String?

    /// One channel. Each run of an activity has its own, in each environment.
    public struct Row: Sendable, Hashable, Codable {
        /// The bundle id of the app.
        public var app: String
        /// The environment of APNs: `sandbox` or `production`.
        public var environment: String
        /// The id of the activity. `nil` if the activity was erased.
        public var activity: String?
        /// The number of the activity in the database. It stays when the activity is erased.
        public var activityNumber: Int
        /// The number of the activity's run, from 1.
        public var run: Int
        /// The id that APNs gave the channel. `nil` unless the channel exists.
        public var channel: String?
        /// The state of the channel.
        ///
        /// - `wanted`: a card needs a channel, and APNs has none yet.
        /// - `lost`: the answer to a creation was lost. The server looks for the channel in APNs's list.
        /// - `refused`: APNs created no channel. The server tries again.
        /// - `open`: the channel exists.
        /// - `ending`: the channel exists, and its run is over.
        public var state: String
        /// The time at which an `ending` channel is deleted.
        public var deletesAt: Instant?
        /// The messages that APNs stores for offline phones: `mostRecent` or `none`.
        public var storage: String
        /// The newest revision that all cards of the channel were sent. 0 if there is none.
        public var sentRevision: Int
        /// The newest revision of the run. `nil` if the activity was erased or has begun another run.
        public var revision: Int?
        /// `true` if cards of the channel lack the newest revision, or the end.
        public var isBehind: Bool
        /// The number of ends that APNs accepted, with the newest last state. The server sends three.
        public var ends: Int
        /// The newest timestamp that the channel's pushes may have used, in seconds. `nil` if there is none.
        public var lastTimestamp: Int?
        /// The time of the newest broadcast. `nil` if there is none.
        public var lastAt: Instant?
        /// The number of failures in a row.
        public var failures: Int
        /// The last failure. `nil` after a success.
        public var reason: Reason?
        /// The action that somebody must take. `nil` if none is needed.
        public var fix: String?
        /// The operation that is under way. `nil` if there is none.
        public var operation: Operation?
        /// The time at which the server looks at the channel again. `nil` if it has nothing to do.
        public var nextLookAt: Instant?

        package init(
            app: String, environment: String, activityNumber: Int, run: Int, state: String, storage: String,
            sentRevision: Int, isBehind: Bool, ends: Int, failures: Int
        ) {
            self.app = app
            self.environment = environment
            self.activityNumber = activityNumber
            self.run = run
            self.state = state
            self.storage = storage
            self.sentRevision = sentRevision
            self.isBehind = isBehind
            self.ends = ends
            self.failures = failures
        }
    }

    /// An operation on a channel whose outcome is not stored yet.
    public struct Operation: Sendable, Hashable, Codable {
        /// The kind of operation: `create`, `update`, `end` or `delete`.
        public var kind: String
        /// The time at which it was claimed.
        public var since: Instant

        package init(kind: String, since: Instant) {
            self.kind = kind
            self.since = since
        }
    }

    /// The numbers of an app's channels in one environment.
    public struct Route: Sendable, Hashable, Codable {
        /// The bundle id of the app.
        public var app: String
        /// The environment of APNs.
        public var environment: String
        /// The number of channels of this server that exist.
        public var channels: Int
        /// The number of channels that APNs lists and that this server has not made. They may be another program's.
        public var foreign: Int
        /// The maximum number of channels that APNs allows.
        public var limit: Int
        /// The number of channels at which `delivery: auto` makes no more.
        public var automaticLimit: Int

        package init(
            app: String, environment: String, channels: Int, foreign: Int, limit: Int, automaticLimit: Int
        ) {
            self.app = app
            self.environment = environment
            self.channels = channels
            self.foreign = foreign
            self.limit = limit
            self.automaticLimit = automaticLimit
        }
    }

    package init(channels: [Row], routes: [Route], next: String?) {
        self.channels = channels
        self.routes = routes
        self.next = next
    }
}
