import APNSModel

/// What a connection allows itself and its peer. Those that a user may set come from `APNSClient.Options`.
struct ConnectionLimits: Sendable {
    /// Never more open streams than this, whatever the peer allows.
    var concurrentStreams = 1_000
    /// The id of the first stream. Tests begin where few are left.
    var firstStreamID: UInt32 = 1
    /// The peer's SETTINGS must be there this long after the connection stands.
    var settingsTimeout = Duration.seconds(10)
    /// Silence after which a PING is sent while streams are open.
    var busySilence = Duration.seconds(15)
    /// Silence after which a PING is sent while none is open.
    var idleSilence = Duration.seconds(60)
    /// How long a PING may stay unanswered.
    var pingTimeout = Duration.seconds(10)
    /// While a PING is unanswered for longer than this, no further stream is opened: nothing more is risked.
    var pingPatience = Duration.seconds(1)
    /// An idle connection that was silent for so long is asked by a PING before it takes a push.
    var staleSilence = Duration.seconds(10)
    /// How long that PING may stay unanswered, while the push waits: less than for one that nobody waits for.
    var proofTimeout = Duration.seconds(3)
    /// After so many pushes in a row without an answer by their deadline the connection is given up, although it
    /// answers PING.
    var consecutiveTimeouts = 32

    /// The largest header block, compressed or not, and the most CONTINUATION frames it may come in.
    static let headerListBytes = 16_384
    static let continuations = 8
    /// The receive window of a connection; a stream keeps RFC 9113's 65,535, of which it may use 4,096.
    static let connectionWindow = 1 << 20
    static let defaultWindow = 65_535
    static let maximumWindow = 0x7FFF_FFFF
    /// What is read of the debug data of a GOAWAY.
    static let goAwayDebugBytes = 1_024
}
