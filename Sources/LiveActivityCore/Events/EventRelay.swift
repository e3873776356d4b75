package import APNSModel

/// Who gets which events from where: the readers of `GET /v1/events`.
///
/// A reader that is level with the relay is handed what comes, by way of a buffer of its own; one that is behind reads
/// from the store until it is level. One whose buffer is full is cut: it comes back and goes on after the last event
/// that it got.
package struct EventRelay: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Readers at the same time, and those of one app.
        package var readers = 256
        package var readersOfApp = 64
        /// Events that wait for one reader.
        package var buffered = 1000
        /// Events of one page from the store.
        package var page = 500

        package init() {}
    }

    package typealias ReaderID = UInt64

    package enum Refusal: Error, Sendable, Equatable {
        case tooMany(limit: Int)
        case tooManyOfApp(limit: Int)
    }

    /// What is next for a reader.
    package enum Step: Sendable, Equatable {
        /// In order, never empty.
        case send([StoredEvent])
        /// The store is to be asked what follows that number.
        case read(after: EventNumber)
        /// Nothing, until it is told to look again; everything up to that number it has, or does not want.
        case wait(at: EventNumber)
        /// It is over.
        case cut
    }

    fileprivate struct Reader {
        let app: BundleID
        let filter: EventFilter
        /// Everything up to it was sent, is in the buffer, or is not wanted.
        var known: EventNumber
        var buffer: [StoredEvent] = []
        var isCut = false
    }

    private let limits: Limits
    private var readers: [ReaderID: Reader] = [:]
    private var lastID: ReaderID = 0
    /// The greatest number that was offered.
    private(set) package var through: EventNumber = 0
    private var isClosed: Bool

    /// - Parameter isOpen: Whether anybody is let in before ``open()``.
    package init(limits: Limits = Limits(), isOpen: Bool = true) {
        self.limits = limits
        isClosed = !isOpen
    }

    /// From now on readers stay.
    package mutating func open() { isClosed = false }

    package var count: Int { readers.count }

    /// Takes in a reader that has everything up to a number.
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

    /// Everything that there is after one number and up to another. Who does not have all up to the first reads it.
    ///
    /// - Returns: The readers for whom there is something to do.
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

    /// What the store said to a reader's `read`: everything up to `number` that its filter lets through.
    package mutating func found(_ events: [StoredEvent], through number: EventNumber, for id: ReaderID) {
        readers[id]?.take(events, through: number, limits)
    }

    /// A reader that fell behind what is kept, or whom the store could not answer.
    package mutating func cut(_ id: ReaderID) { readers[id]?.isCut = true }

    /// Takes what is next for a reader; what it sends is not said again.
    package mutating func next(_ id: ReaderID) -> Step {
        guard let reader = readers[id], !reader.isCut else { return .cut }
        if !reader.buffer.isEmpty {
            readers[id]?.buffer = []
            return .send(reader.buffer)
        }
        return reader.known < through ? .read(after: reader.known) : .wait(at: reader.known)
    }

    /// From now on everybody is cut.
    ///
    /// - Returns: The readers, who are to be told.
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

/// Which of an app's events somebody wants.
package struct EventFilter: Sendable, Equatable {
    package var activity: ActivityID?
    /// `nil`: all.
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
