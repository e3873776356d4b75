import APNSModel

/// The limits of a connection and of its peer. Those that a user may set come from `APNSClient.Options`.
struct ConnectionLimits: Sendable {
    /// Maximum number of open streams, even if the peer allows more.
    var concurrentStreams = 1_000
    /// The id of the first stream. Tests begin where few ids are left.
    var firstStreamID: UInt32 = 1
    /// Maximum time from the established connection to the peer's SETTINGS.
    var settingsTimeout = Duration.seconds(10)
    /// Time of silence after which a PING is sent while streams are open.
    var busySilence = Duration.seconds(15)
    /// Time of silence after which a PING is sent while no stream is open.
    var idleSilence = Duration.seconds(60)
    /// Maximum time for the answer to a PING.
    var pingTimeout = Duration.seconds(10)
    /// Time for which a PING may stay unanswered before the connection opens no further stream. This avoids more risk.
    var pingPatience = Duration.seconds(1)
    /// Time of silence after which an idle connection must answer a PING before it gets a push.
    var staleSilence = Duration.seconds(10)
    /// Maximum time for the answer to that PING. It is shorter than for other PINGs because a push waits.
    var proofTimeout = Duration.seconds(3)
    /// Number of consecutive pushes without an answer by their deadline after which the connection is retired, although
    /// it answers PING.
    var consecutiveTimeouts = 32

    /// Maximum size of a header block in bytes, compressed or not, and maximum number of its CONTINUATION frames.
    static let headerListBytes = 16_384
    static let continuations = 8
    /// The receive window of the connection. Each stream keeps RFC 9113's 65,535 bytes, of which it may use 4,096.
    static let connectionWindow = 1 << 20
    static let defaultWindow = 65_535
    static let maximumWindow = 0x7FFF_FFFF
    /// Number of bytes that are read of a GOAWAY's debug data.
    static let goAwayDebugBytes = 1_024
}
