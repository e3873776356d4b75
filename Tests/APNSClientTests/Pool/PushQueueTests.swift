import APNSModel
import IsletBasics
import Testing

@testable import APNSClient

@Suite struct PushQueueTests {
    private func attempt(
        _ number: Int, _ priority: PushPriority = .high, sendBefore: Double = 100
    ) throws -> Attempt {
        let push = try Make.push(number, priority: priority, sendBefore: Make.time(sendBefore))
        return Attempt(push)
    }

    private func drained(_ queue: inout PushQueue) -> [UInt64] {
        var numbers: [UInt64] = []
        while let next = queue.next, let attempt = queue.removeNext() {
            #expect(next.sendBefore == attempt.sendBefore && next.size == attempt.payload.count)
            numbers.append(attempt.id.low)
        }
        return numbers
    }

    @Test func `high ones go first, and one in so many is low`() throws {
        var queue = PushQueue(.init(waiting: 100, lowPriorityTurn: 3))
        for number in 1...3 { _ = queue.append(try attempt(number, .low)) }
        for number in 11...17 { _ = queue.append(try attempt(number)) }
        #expect(queue.count == 10)
        #expect(drained(&queue) == [11, 12, 1, 13, 14, 2, 15, 16, 3, 17])
        #expect(queue.isEmpty)
    }

    @Test func `low ones alone wait for nobody`() throws {
        var queue = PushQueue(.init(waiting: 100, lowPriorityTurn: 8))
        for number in 1...3 { _ = queue.append(try attempt(number, .low)) }
        #expect(drained(&queue) == [1, 2, 3])
    }

    @Test func `each priority has its own limit`() throws {
        var queue = PushQueue(.init(waiting: 2, lowPriorityTurn: 8))
        let low = try (1...3).map { queue.append(try attempt($0, .low)) }
        let high = try (4...6).map { queue.append(try attempt($0)) }
        #expect(low == [true, true, false] && high == [true, true, false])
    }

    @Test func `what comes back stands where it stood, beyond the limit too`() throws {
        var queue = PushQueue(.init(waiting: 4, lowPriorityTurn: 8))
        for number in 1...4 { _ = queue.append(try attempt(number)) }
        var taken: [Attempt] = []
        for _ in 1...3 { if let attempt = queue.removeNext() { taken.append(attempt) } }
        for number in 5...7 { _ = queue.append(try attempt(number)) }
        queue.giveBack([taken[2], taken[0]])
        queue.giveBack([taken[1]])
        #expect(drained(&queue) == [1, 2, 3, 4, 5, 6, 7])
    }

    @Test func `what must not leave any more is taken out, wherever it stands`() throws {
        var queue = PushQueue(.init(waiting: 100, lowPriorityTurn: 8))
        for number in 1...6 {
            let time = number.isMultiple(of: 2) ? 1.0 : 5.0
            _ = queue.append(try attempt(number, number > 3 ? .low : .high, sendBefore: time))
        }
        #expect(queue.removeEnded(Make.time(0.9)).isEmpty)
        #expect(queue.removeEnded(Make.time(1)).map { $0.id.low } == [2, 4, 6])
        #expect(queue.removeEnded(Make.time(4.9)).isEmpty)
        #expect(queue.removeEnded(Make.time(5)).count == 3 && queue.isEmpty)
    }

    @Test(arguments: 0..<100)
    func `order holds within a priority whatever comes back, and nothing is lost`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var queue = PushQueue(.init(waiting: 50, lowPriorityTurn: Int.random(in: 2...9, using: &dice)))
        var inside: Set<UInt64> = []
        var outside: [Attempt] = []
        for number in 1...200 {
            switch Int.random(in: 0..<3, using: &dice) {
            case 0:
                let priority: PushPriority = Bool.random(using: &dice) ? .high : .low
                if queue.append(try attempt(number, priority)) { inside.insert(UInt64(number)) }
            case 1:
                guard let attempt = queue.removeNext() else { continue }
                inside.remove(attempt.id.low)
                outside.append(attempt)
            default:
                outside.shuffle(using: &dice)
                let returned = outside.prefix(Int.random(in: 0...3, using: &dice))
                outside.removeFirst(returned.count)
                queue.giveBack(Array(returned))
                inside.formUnion(returned.map(\.id.low))
            }
            #expect(queue.count == inside.count, "seed \(seed)")
        }
        var last: [PushPriority: UInt64] = [:]
        while let attempt = queue.removeNext() {
            let priority = attempt.priority
            #expect(attempt.order >= last[priority] ?? 0, "seed \(seed)")
            last[priority] = attempt.order
            #expect(inside.remove(attempt.id.low) != nil, "seed \(seed)")
        }
        #expect(inside.isEmpty, "seed \(seed)")
    }

    @Test func `what comes back still ends in time`() throws {
        var queue = PushQueue(.init(waiting: 10, lowPriorityTurn: 8))
        _ = queue.append(try attempt(1, sendBefore: 10))
        let first = queue.removeNext()
        let taken = try #require(first)
        _ = queue.append(try attempt(2, sendBefore: 5))
        #expect(queue.removeEnded(Make.time(6)).map(\.id.low) == [2])
        queue.giveBack([taken])
        #expect(queue.removeEnded(Make.time(9)).isEmpty)
        #expect(queue.removeEnded(Make.time(10)).map(\.id.low) == [1])
    }
}
