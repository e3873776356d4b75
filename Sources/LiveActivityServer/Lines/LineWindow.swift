/// The lines of a stream that are worked on: which may begin, and which answers may be written.
///
/// Lines of the same subject are worked on one after another, in order; lines of others at the same time. Answers are
/// written in the order of the lines.
package struct LineWindow<Work: Sendable>: Sendable {
    /// A line that was taken in.
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
    /// Who waits for a line of the same subject; a subject that is worked on has a list, if an empty one.
    private var waiting: [String: [Entry]] = [:]
    private var answers: [Int: [UInt8]] = [:]
    private var unread = 0
    private var isClosed = false

    package init(maximumOpen: Int, maximumUnread: Int) {
        self.maximumOpen = maximumOpen
        self.maximumUnread = maximumUnread
    }

    package var hasRoom: Bool { open < maximumOpen && unread < maximumUnread }
    /// Every line was answered, and every answer written.
    package var isOver: Bool { isClosed && unread == 0 }

    /// Takes a line in; gives it back if work on it may begin now.
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

    /// Takes an answer that needs no work.
    package mutating func answer(_ bytes: [UInt8]) {
        answers[nextPlace] = bytes
        nextPlace += 1
        unread += bytes.count
    }

    /// Takes the answer to a line; gives the next line of its subject.
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

    /// The answers whose turn it is, at most so many bytes and one.
    package mutating func takeAnswers(_ limit: Int = 64 * 1024) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit, let answer = answers.removeValue(forKey: nextAnswer) {
            bytes += answer
            nextAnswer += 1
        }
        return bytes
    }

    /// So many bytes were written.
    package mutating func written(_ count: Int) { unread -= count }

    /// No further line comes, and all were answered.
    package mutating func close() { isClosed = true }
}
