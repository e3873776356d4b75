public import Foundation
import Synchronization

/// The goals and check-ins of all people, in memory, and in a file if one is given.
public final class GoalBook: Sendable {
    private struct Page: Codable {
        var goals: [Goal] = []
        var checkIns: [CheckIn] = []
    }

    private let pages: Mutex<[String: Page]>
    private let file: URL?

    /// Creates a book.
    ///
    /// - Throws: An error if the file exists and cannot be read.
    public init(file: URL? = nil) throws {
        self.file = file
        var known: [String: Page] = [:]
        if let file, FileManager.default.fileExists(atPath: file.path) {
            known = try JSONDecoder().decode([String: Page].self, from: Data(contentsOf: file))
        }
        pages = Mutex(known)
    }

    /// Sets a person's goal, or changes it.
    public func set(_ goal: Goal, of person: String) throws {
        try change { pages in
            pages[person, default: Page()].goals.removeAll { $0.id == goal.id }
            pages[person, default: Page()].goals.append(goal)
        }
    }

    /// Makes or changes a check-in, from anywhere.
    public func checkIn(_ checkIn: CheckIn, of person: String) throws {
        try change { pages in
            pages[person, default: Page()].checkIns.removeAll { $0.goal == checkIn.goal && $0.day == checkIn.day }
            pages[person, default: Page()].checkIns.append(checkIn)
        }
    }

    /// Makes the open check-ins of a day ahead, where there are none.
    ///
    /// - Returns: The people whose check-ins were made.
    public func prepare(_ day: Day) throws -> [String] {
        var people: [String] = []
        try change { pages in
            for (person, page) in pages {
                let known = Set(page.checkIns.filter { $0.day == day }.map(\.goal))
                let new = page.goals.filter { $0.weekdays.contains(day.weekday) && !known.contains($0.id) }
                guard !new.isEmpty else { continue }
                pages[person]?.checkIns += new.map { CheckIn(goal: $0.id, day: day, mark: .open) }
                people.append(person)
            }
        }
        return people.sorted()
    }

    /// Returns what is next for a person on a day.
    public func today(of person: String, on day: Day, lock: Today.Lock?) -> Today? {
        let page = pages.withLock { $0[person] } ?? Page()
        return Today(page.goals, page.checkIns, on: day, lock: lock)
    }

    private func change(_ change: (inout [String: Page]) -> Void) throws {
        try pages.withLock { pages in
            change(&pages)
            guard let file else { return }
            try JSONEncoder().encode(pages).write(to: file, options: .atomic)
        }
    }
}
