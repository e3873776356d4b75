import APNSModel

/// A stream that is open, or a free place for one.
struct PushStream {
    enum Phase: UInt8 {
        case free
        /// The answer's headers have not come.
        case waiting
        /// A refusal's headers came, its body is awaited.
        case refusal
        /// The outcome is settled, the peer has not ended the stream: it still counts against its limit.
        case tail
    }

    /// The body of a refusal while it comes in.
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
    /// Body bytes that wait for a window.
    var unsent = 0
    /// Bytes that came after the outcome was settled.
    var tailBytes = 0
    var deadline = MonotonicTime(nanoseconds: .max)

    /// The place is free again; `open` sets the rest.
    mutating func vacate() {
        phase = .free
        attempt = nil
        partial = nil
        unsent = 0
        tailBytes = 0
    }
}

/// The streams of a connection in a ring, indexed by (id - 1) / 2: no dictionary, no allocation per push.
///
/// A stream that outlives a whole turn of the ring keeps its place; the ids that fall on it are skipped, which RFC 9113
/// section 5.1.1 allows.
struct StreamRing {
    private(set) var streams: [PushStream]
    private let mask: Int
    private(set) var openCount = 0
    private(set) var nextID: UInt32

    /// - Parameter maximumOpen: Twice as many places are made, so that a free one is always near.
    init(maximumOpen: Int, firstID: UInt32 = 1) {
        nextID = firstID
        var size = 4
        while size < maximumOpen * 2 { size *= 2 }
        streams = Array(repeating: PushStream(), count: size)
        mask = size - 1
    }

    /// Whether no id is left (RFC 9113 section 5.1.1); a turn of the ring is kept in reserve for skipping.
    var isExhausted: Bool { nextID > 0x7FFF_FFFF - UInt32(streams.count * 2) }

    /// The place of an open stream.
    func place(of id: UInt32) -> Int? {
        let place = Int(id >> 1) & mask
        return id & 1 == 1 && streams[place].id == id && streams[place].phase != .free ? place : nil
    }

    /// Whether a stream of this id was never opened by us: also every even id, since push is disabled.
    func isIdle(_ id: UInt32) -> Bool { id & 1 == 0 || id >= nextID }

    /// Takes a place; `nil` when none is free.
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
