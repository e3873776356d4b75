import APNSModel

/// An open stream, or a free slot for one.
struct PushStream {
    enum Phase: UInt8 {
        case free
        /// The headers of the answer have not arrived.
        case waiting
        /// The headers of a refusal have arrived, and its body has not.
        case refusal
        /// The outcome is settled, but the peer has not ended the stream. The stream still counts against the peer's
        /// limit.
        case tail
    }

    /// The part of a refusal that has arrived.
    final class Partial {
        let headers: AnswerHeaders
        var body: [UInt8] = []

        init(_ headers: AnswerHeaders) {
            self.headers = headers
        }
    }

    var id: UInt32 = 0
    var phase = Phase.free
    var attempt: Attempt?
    var partial: Partial?
    var sendWindow = 0
    /// Number of body bytes that wait for a window.
    var unsent = 0
    /// Number of bytes that arrived after the outcome was settled.
    var tailBytes = 0
    var deadline = MonotonicTime(nanoseconds: .max)

    /// Frees the slot. `open` sets the remaining properties.
    mutating func vacate() {
        phase = .free
        attempt = nil
        partial = nil
        unsent = 0
        tailBytes = 0
    }
}

/// The streams of a connection in a ring buffer, indexed by (id - 1) / 2. It needs no dictionary and no allocation per
/// push.
///
/// A stream that outlives a full turn of the ring keeps its slot. The ids that fall on it are skipped, which RFC 9113
/// section 5.1.1 allows.
struct StreamRing {
    private(set) var streams: [PushStream]
    private let mask: Int
    private(set) var openCount = 0
    private(set) var nextID: UInt32

    /// - Parameter maximumOpen: Maximum number of open streams. The ring has at least twice as many slots, so that a
    ///   free one is always near.
    init(maximumOpen: Int, firstID: UInt32 = 1) {
        nextID = firstID
        var size = 4
        while size < maximumOpen * 2 { size *= 2 }
        streams = Array(repeating: PushStream(), count: size)
        mask = size - 1
    }

    /// `true` if no stream id is left (RFC 9113 section 5.1.1). One turn of the ring is reserved for skipping.
    var isExhausted: Bool { nextID > 0x7FFF_FFFF - UInt32(streams.count * 2) }

    /// Returns the slot of an open stream.
    func place(of id: UInt32) -> Int? {
        let place = Int(id >> 1) & mask
        return id & 1 == 1 && streams[place].id == id && streams[place].phase != .free ? place : nil
    }

    /// Returns `true` if the client never opened a stream with this id. This includes every even id, because push is
    /// disabled.
    func isIdle(_ id: UInt32) -> Bool { id & 1 == 0 || id >= nextID }

    /// Opens a stream. Returns its slot, or `nil` if none is free.
    mutating func open(sendWindow: Int, _ attempt: Attempt) -> Int? {
        guard openCount < streams.count, !isExhausted else { return nil }
        while streams[Int(nextID >> 1) & mask].phase != .free { nextID += 2 }
        let place = Int(nextID >> 1) & mask
        streams[place].id = nextID
        streams[place].phase = .waiting
        streams[place].sendWindow = sendWindow
        streams[place].deadline = attempt.answerBy
        streams[place].attempt = attempt
        nextID += 2
        openCount += 1
        return place
    }

    mutating func close(_ place: Int) {
        guard streams[place].phase != .free else { return }
        streams[place].vacate()
        openCount -= 1
    }

    subscript(place: Int) -> PushStream {
        get { streams[place] }
        _modify { yield &streams[place] }
    }
}
