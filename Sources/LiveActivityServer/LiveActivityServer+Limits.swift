package import LiveActivityCore

extension LiveActivityServer {
    /// What the server takes at most. The defaults fit one small machine.
    public struct Limits: Sendable, Hashable {
        /// The most bytes of a request's body; beyond, the call answers 413.
        public var bodyBytes = 64 * 1024
        /// The most bytes of an inventory, which lists every card of a phone, and of a page of an audience.
        public var inventoryBytes = 256 * 1024
        /// The most arrays and objects inside one another in a body.
        public var jsonDepth = 32
        /// The most values in a body.
        public var jsonValues = 20_000
        /// The most phones whose outlook one answer works out one by one.
        public var countedPhones = 2_000
        /// Of more phones so many are looked at, and the others taken to be like them.
        public var sampledPhones = 500
        /// The most phones that a dry run counts.
        public var previewedPhones = 10_000
        /// The most bytes of one line of a batch; a longer one is answered with 413.
        public var lineBytes = 64 * 1024
        /// The most lines of a batch.
        public var lines = 1_000_000
        /// The most lines of a batch that are worked on at the same time.
        public var openLines = 256
        /// The most bytes of answers that wait for their reader; while there are as many, no further line is read.
        public var unreadBytes = 16 * 1024 * 1024
        /// The most batches and streamed audiences at the same time; a further one is answered with 503.
        public var streams = 8
        /// The same of one app.
        public var streamsOfApp = 4
        /// The most streams of events (`GET /v1/events`) at the same time; a further one is answered with 503.
        public var eventStreams = 256
        /// The same of one app.
        public var eventStreamsOfApp = 64
        /// The most events that wait for one of their readers; one that reads more slowly is cut, and comes back.
        public var unreadEvents = 1000
        /// How often a stream of events shows that it is alive when there are none.
        public var eventBeat = Duration.seconds(15)
        /// Events of one read from the database.
        var eventPage: Int { min(500, unreadEvents) }
        /// How long a policy is tried at most; what is not played by then is refused.
        public var trialTime = Duration.seconds(30)
        /// How much of a day one trial plays.
        package var trial = RecordedDay.Limits()
        /// The most requests that are worked on at the same time; a further one is answered with 503.
        public var openRequests = 2_000
        /// The same of one API key: half of them; a further one is answered with 429.
        var openRequestsOfKey: Int { max(1, openRequests / 2) }
        /// The same of one person or phone that calls by itself.
        var openRequestsOfPerson: Int { min(32, openRequestsOfKey) }
        /// The most requests at the same time of one call that needs no key, such as `GET /metrics`; a further one is
        /// answered with 503. They are counted apart, and do not take up room of `openRequests`.
        public var keylessRequests = 32
        /// The most calls of one API key in a second, and twice as many at once; `nil`: any number.
        public var requestsPerSecond: Int? = 10_000
        /// The same of one person or phone that calls by itself, and about one device.
        public var requestsPerSecondPerDevice: Int? = 20
        /// The most connections at the same time; further ones wait to be accepted.
        public var connections = 10_000
        /// The same of the listener of metrics, where it is one of its own.
        public var metricsConnections = 64
        /// The most connections of one remote address, of IPv6 of one network of 64 bits; half of all where nothing is
        /// said. A further one is closed. A proxy in front is one address.
        public var connectionsPerAddress: Int {
            get { ownConnectionsPerAddress ?? max(1, connections / 2) }
            set { ownConnectionsPerAddress = newValue }
        }
        private var ownConnectionsPerAddress: Int?
        /// The most sign-ins to the console from one remote address in a second, and twice as many at once; `nil`: any
        /// number. Further ones are answered with 429.
        public var signInsPerSecond: Int? = 5
        /// How long a connection may be silent before it is closed, and lines may come without a whole one among them.
        public var idleTimeout = Duration.seconds(60)
        /// The most bytes of a request's header; of HTTP/2's at most 16 KiB.
        public var headerBytes = 32 * 1024
        /// The most fields of a request's header.
        public var headerFields = 100
        /// How long a handshake, and a header from its first byte on, may take.
        public var headTimeout = Duration.seconds(10)
        /// How long a body may take; lines that are answered while they come have only to go on.
        public var bodyTimeout = Duration.seconds(30)
        /// How long answers may wait for a client that does not read them, while more than 64 KiB of them do.
        public var writeTimeout = Duration.seconds(30)
        /// The most bytes that are still read of a body that was refused.
        public var unreadBody = 1024 * 1024
        /// How long a connection stays open after its last answer for the client to close it.
        public var closeGrace = Duration.seconds(1)
        /// How long idle connections are kept when the server stops, for a request that is on its way.
        public var stopGrace = Duration.seconds(1)
        /// How long the server takes to stop at most: what is not answered by then is cut off.
        public var stopTimeout = Duration.seconds(25)

        /// The standard limits.
        public init() {}
    }
}
