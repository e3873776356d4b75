package import LiveActivityCore

extension LiveActivityServer {
    /// Limits of the server. The defaults suit one small machine.
    public struct Limits: Sendable, Hashable {
        /// Maximum size of a request's body, in bytes. A larger body is answered with 413.
        public var bodyBytes = 64 * 1024
        /// Maximum size of an inventory or of a page of an audience, in bytes.
        public var inventoryBytes = 256 * 1024
        /// Maximum nesting of arrays and objects in a body.
        public var jsonDepth = 32
        /// Maximum number of values in a body.
        public var jsonValues = 20_000
        /// Maximum number of phones that one answer examines one by one.
        public var countedPhones = 2_000
        /// Number of phones in the sample from which an answer estimates, if there are more than `countedPhones`.
        public var sampledPhones = 500
        /// Maximum number of phones that a dry run counts.
        public var previewedPhones = 10_000
        /// Maximum size of one line of a batch, in bytes. A longer line is answered with 413.
        public var lineBytes = 64 * 1024
        /// Maximum number of lines of a batch.
        public var lines = 1_000_000
        /// Maximum number of lines of a batch that are processed at the same time.
        public var openLines = 256
        /// Maximum number of bytes of answers that wait for their reader. No further line is read while they wait.
        public var unreadBytes = 16 * 1024 * 1024
        /// Maximum number of batches and streamed audiences at the same time. A further one is answered with 503.
        public var streams = 8
        /// Maximum number of batches and streamed audiences of one app at the same time.
        public var streamsOfApp = 4
        /// Maximum number of event streams (`GET /v1/events`) at the same time. A further one is answered with 503.
        public var eventStreams = 256
        /// Maximum number of event streams of one app at the same time.
        public var eventStreamsOfApp = 64
        /// Maximum number of events that wait for one reader. A reader that is slower is cut off, and can reconnect.
        public var unreadEvents = 1000
        /// Interval at which an idle event stream sends a sign of life.
        public var eventBeat = Duration.seconds(15)
        /// Number of events in one read from the database.
        var eventPage: Int { min(500, unreadEvents) }
        /// Maximum duration of a policy trial. A trial that is not finished by then is refused.
        public var trialTime = Duration.seconds(30)
        /// Maximum part of a day that one trial replays.
        package var trial = RecordedDay.Limits()
        /// Maximum number of requests that are processed at the same time. A further one is answered with 503.
        public var openRequests = 2_000
        /// Maximum number of simultaneous requests of one API key. A further one is answered with 429.
        var openRequestsOfKey: Int { max(1, openRequests / 2) }
        /// Maximum number of simultaneous requests of one person or phone that makes its own calls.
        var openRequestsOfPerson: Int { min(32, openRequestsOfKey) }
        /// Maximum number of simultaneous requests of each call that needs no key, such as `GET /metrics`.
        ///
        /// A further one is answered with 503. These requests do not count towards `openRequests`.
        public var keylessRequests = 32
        /// Maximum number of calls of one API key per second; after a pause, twice as many at once. `nil`: unlimited.
        public var requestsPerSecond: Int? = 10_000
        /// Maximum number of calls per second of one person or phone that makes its own calls, and about one device.
        ///
        /// After a pause, twice as many at once. `nil`: unlimited.
        public var requestsPerSecondPerDevice: Int? = 20
        /// Maximum number of calls per minute from one remote address that join an activity without a credential; for
        /// IPv6, from one 64-bit network.
        ///
        /// After a pause, twice as many at once. Further ones are answered with 429. `nil`: unlimited. All clients
        /// behind a proxy share one address, and so do many phones of one mobile carrier.
        public var joinsPerMinutePerAddress: Int? = 60
        /// Maximum number of connections at the same time. Further ones wait to be accepted.
        public var connections = 10_000
        /// Maximum number of connections at the same time to a separate metrics listener.
        public var metricsConnections = 64
        /// Maximum number of connections of one remote address; for IPv6, of one 64-bit network. A further one is
        /// closed.
        ///
        /// Default: half of `connections`. All clients behind a proxy share one address.
        public var connectionsPerAddress: Int {
            get { ownConnectionsPerAddress ?? max(1, connections / 2) }
            set { ownConnectionsPerAddress = newValue }
        }
        private var ownConnectionsPerAddress: Int?
        /// Maximum number of sign-ins to the console from one remote address per second; after a pause, twice as many
        /// at once.
        ///
        /// Further ones are answered with 429. `nil`: unlimited.
        public var signInsPerSecond: Int? = 5
        /// Time after which a silent connection is closed. Also the time in which a stream of lines must bring a whole
        /// line.
        public var idleTimeout = Duration.seconds(60)
        /// Maximum size of a request's header, in bytes. For HTTP/2 it is at most 16 KiB.
        public var headerBytes = 32 * 1024
        /// Maximum number of fields in a request's header.
        public var headerFields = 100
        /// Maximum duration of a TLS handshake, and of a header from its first byte on.
        public var headTimeout = Duration.seconds(10)
        /// Maximum duration of a body. Lines that are answered while they arrive have no such limit.
        public var bodyTimeout = Duration.seconds(30)
        /// Time for which answers may wait for a client that does not read them, while more than 64 KiB wait.
        public var writeTimeout = Duration.seconds(30)
        /// Maximum number of bytes that are still read of a body that was refused.
        public var unreadBody = 1024 * 1024
        /// Time for which a connection stays open after its last answer, so that the client can close it.
        public var closeGrace = Duration.seconds(1)
        /// Time for which idle connections are kept when the server stops, for requests that are on their way.
        public var stopGrace = Duration.seconds(1)
        /// Maximum time for stopping the server. Requests that are not answered by then are cut off.
        public var stopTimeout = Duration.seconds(25)

        /// Creates the default limits.
        public init() {}
    }
}
