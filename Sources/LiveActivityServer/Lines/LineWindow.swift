/// The lines of a stream that are in progress. It decides which line may begin, and which answers may be written.
///
/// Lines of one subject are processed one after another, in order. Lines of different subjects are processed at the
/// same time. Answers are written in the order of the lines.
package struct LineWindow<Work: Sendable>: Sendable {
    /// A line that was admitted.
    package struct Entry: Sendable {
        package let place: Int
        package let subject: String?
        package let work: Work
    }

    private let maximumOpen: Int
    private let maximumUnread: Int
    private var nextPlace = 0
    private var nextAnswer = 0
    private var open = 0
    /// The lines that wait for a line of the same subject. A subject in progress has a list, even if it is empty.
    private var waiting: [String: [Entry]] = [:]
    private var answers: [Int: [UInt8]] = [:]
    private var unread = 0
    private var isClosed = false

    package init(maximumOpen: Int, maximumUnread: Int) {
        self.maximumOpen = maximumOpen
        self.maximumUnread = maximumUnread
    }

    package var hasRoom: Bool { open < maximumOpen && unread < maximumUnread }
    /// `true` if every line was answered and every answer written.
    package var isOver: Bool { isClosed && unread == 0 }

    /// Admits a line. Returns it if work on it may begin now.
    package mutating func admit(_ work: Work, subject: String?) -> Entry? {
        let entry = Entry(place: nextPlace, subject: subject, work: work)
        nextPlace += 1
        open += 1
        guard let subject else { return entry }
        guard waiting[subject] == nil else {
            waiting[subject]?.append(entry)
            return nil
        }
        waiting[subject] = []
        return entry
    }

    /// Stores the answer to a line that needs no work.
    package mutating func answer(_ bytes: [UInt8]) {
        answers[nextPlace] = bytes
        nextPlace += 1
        unread += bytes.count
    }

    /// Stores the answer to a line. Returns the next line of its subject.
    package mutating func finish(_ entry: Entry, _ bytes: [UInt8]) -> Entry? {
        answers[entry.place] = bytes
        open -= 1
        unread += bytes.count
        guard let subject = entry.subject else { return nil }
        guard var queue = waiting[subject], !queue.isEmpty else {
            waiting[subject] = nil
            return nil
        }
        let next = queue.removeFirst()
        waiting[subject] = queue
        return next
    }

    /// Returns the next answers in order. Stops once they have `limit` bytes or more.
    package mutating func takeAnswers(_ limit: Int = 64 * 1024) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit, let answer = answers.removeValue(forKey: nextAnswer) {
            bytes += answer
            nextAnswer += 1
        }
        return bytes
    }

    /// Frees the space of written bytes.
    package mutating func written(_ count: Int) { unread -= count }

    /// Marks the end: no further line comes, and all lines were answered.
    package mutating func close() { isClosed = true }
}
