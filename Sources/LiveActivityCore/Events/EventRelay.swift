package import APNSModel

/// Distributes events to the readers of `GET /v1/events`.
///
/// A reader that is up to date gets new events through a buffer of its own. A reader that is behind reads from the
/// store until it is up to date. A reader whose buffer is full is disconnected. It can reconnect and continue after the
/// last event that it got.
package struct EventRelay: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Maximum number of concurrent readers; `readersOfApp` is the maximum for one app.
        package var readers = 256
        package var readersOfApp = 64
        /// Maximum number of events that wait for one reader.
        package var buffered = 1000
        /// Number of events in one page from the store.
        package var page = 500

        package init() {}
    }

    package typealias ReaderID = UInt64

    package enum Refusal: Error, Sendable, Equatable {
        case tooMany(limit: Int)
        case tooManyOfApp(limit: Int)
    }

    /// Next step for a reader.
    package enum Step: Sendable, Equatable {
        /// Send these events, in order. There is at least one.
        case send([StoredEvent])
        /// Ask the store for the events after that number.
        case read(after: EventNumber)
        /// Wait for a notice to look again. The reader has every event that it wants up to that number.
        case wait(at: EventNumber)
        /// Disconnect the reader.
        case cut
    }

    fileprivate struct Reader {
        let app: BundleID
        let filter: EventFilter
        /// Number up to which every event was sent, is in the buffer, or is not wanted.
        var known: EventNumber
        var buffer: [StoredEvent] = []
        var isCut = false
    }

    private let limits: Limits
    private var readers: [ReaderID: Reader] = [:]
    private var lastID: ReaderID = 0
    /// Greatest number that was offered.
    private(set) package var through: EventNumber = 0
    private var isClosed: Bool

    /// Creates a relay.
    ///
    /// - Parameter isOpen: `false` to disconnect every reader until ``open()`` is called.
    package init(limits: Limits = Limits(), isOpen: Bool = true) {
        self.limits = limits
        isClosed = !isOpen
    }

    /// Allows readers to stay from now on.
    package mutating func open() { isClosed = false }

    package var count: Int { readers.count }

    /// Adds a reader that has every event up to a number.
    ///
    /// - Throws: `Refusal` if there are too many readers, in total or of the app.
    package mutating func join(
        _ app: BundleID, _ filter: EventFilter, after number: EventNumber
    ) throws(Refusal) -> ReaderID {
        guard readers.count < limits.readers else { throw .tooMany(limit: limits.readers) }
        guard readers.values.count(where: { $0.app == app }) < limits.readersOfApp else {
            throw .tooManyOfApp(limit: limits.readersOfApp)
        }
        lastID += 1
        readers[lastID] = Reader(app: app, filter: filter, known: number, isCut: isClosed)
        return lastID
    }

    package mutating func leave(_ id: ReaderID) { readers[id] = nil }

    /// Offers all events after `before`, up to and including `number`. A reader that does not have every event up to
    /// `before` reads them from the store.
    ///
    /// - Returns: The readers that have something to do.
    package mutating func offer(
        _ events: [StoredEvent], after before: EventNumber, through number: EventNumber
    ) -> [ReaderID] {
        guard number > through else { return [] }
        through = number
        var concerned: [ReaderID] = []
        for id in readers.keys {
            guard var reader = readers[id], !reader.isCut, reader.known < number else { continue }
            if reader.known >= before {
                reader.take(events, through: number, limits)
                readers[id] = reader
                guard reader.isCut || !reader.buffer.isEmpty else { continue }
            }
            concerned.append(id)
        }
        return concerned.sorted()
    }

    /// Passes on the store's answer to a reader's `read`: every event up to `number` that passes its filter.
    package mutating func found(_ events: [StoredEvent], through number: EventNumber, for id: ReaderID) {
        readers[id]?.take(events, through: number, limits)
    }

    /// Disconnects a reader that fell behind the events that are kept, or that the store could not answer.
    package mutating func cut(_ id: ReaderID) { readers[id]?.isCut = true }

    /// Returns the next step for a reader. Events to send are returned only once.
    package mutating func next(_ id: ReaderID) -> Step {
        guard let reader = readers[id], !reader.isCut else { return .cut }
        if !reader.buffer.isEmpty {
            readers[id]?.buffer = []
            return .send(reader.buffer)
        }
        return reader.known < through ? .read(after: reader.known) : .wait(at: reader.known)
    }

    /// Disconnects every reader, now and later.
    ///
    /// - Returns: The readers to notify.
    package mutating func close() -> [ReaderID] {
        isClosed = true
        for id in readers.keys { readers[id]?.isCut = true }
        return readers.keys.sorted()
    }
}

extension EventRelay.Reader {
    fileprivate mutating func take(_ events: [StoredEvent], through number: EventNumber, _ limits: EventRelay.Limits) {
        guard number > known else { return }
        for event in events where event.number > known && event.record.app == app && filter.admits(event) {
            buffer.append(event)
        }
        known = number
        guard buffer.count > limits.buffered else { return }
        buffer = []
        isCut = true
    }
}

/// Selection of an app's events.
package struct EventFilter: Sendable, Equatable {
    package var activity: ActivityID?
    /// Kinds to select; `nil` selects all.
    package var kinds: Set<EventRecord.Kind>?

    package init(activity: ActivityID? = nil, kinds: Set<EventRecord.Kind>? = nil) {
        self.activity = activity
        self.kinds = kinds
    }

    package func admits(_ event: StoredEvent) -> Bool {
        guard kinds?.contains(event.record.kind) ?? true else { return false }
        return activity.map { $0 == event.activity } ?? true
    }
}
