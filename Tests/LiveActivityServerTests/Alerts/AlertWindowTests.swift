import APNSModel
import LiveActivityCore
import Testing

@testable import LiveActivityServer

@Suite struct AlertWindowTests {
    private static let selector = AlertSelector(.retries)

    private static func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private static func retries(_ count: Double, _ reason: String = "slow-down") -> [MetricFamily] {
        [MetricFamily(.retries, [.init(["a", reason], .number(count))])]
    }

    private func window(_ counts: [(Int, Double)]) -> AlertWindow {
        var window = AlertWindow()
        for (second, count) in counts { window.add(Self.retries(count), at: Self.at(second)) }
        return window
    }

    @Test func `a counter's increase is that of the time that is asked for`() {
        let window = window([(0, 5), (60, 7), (120, 20), (180, 21)])
        func increase(_ seconds: Int) -> Double? {
            AlertExpression.increase(Self.selector, .seconds(seconds)).values(in: window).values.first
        }
        #expect(increase(60) == 1 && increase(120) == 14 && increase(3600) == 16)
        #expect(
            AlertExpression.rate(Self.selector, .seconds(120)).values(in: window)
                == [["app": "a", "reason": "slow-down"]: 14.0 / 120])
    }

    @Test func `the first of something is growth, though a counter that begins has no increase`() {
        var window = window([(0, 1)])
        window.add(Self.retries(1) + Self.retries(2, "halted"), at: Self.at(60))
        window.add(Self.retries(1) + Self.retries(2, "halted"), at: Self.at(120))
        let growth = AlertExpression.growth(Self.selector, .seconds(120)).values(in: window)
        #expect(growth == [["app": "a", "reason": "halted"]: 2])
        #expect(AlertExpression.increase(Self.selector, .seconds(120)).values(in: window).values.allSatisfy { $0 == 0 })
        // By then the series began long ago.
        #expect(AlertExpression.growth(Self.selector, .seconds(60)).values(in: window).isEmpty)
    }

    @Test func `a day is looked back on by a few samples, and what is older is forgotten`() {
        var window = AlertWindow()
        for second in stride(from: 0, through: 100_000, by: 5) {
            window.add(Self.retries(Double(second)), at: Self.at(second))
        }
        let day = AlertExpression.increase(Self.selector, .seconds(86_400)).values(in: window).values.first ?? 0
        #expect((86_000...86_400).contains(day), "\(day)")
        #expect(AlertExpression.increase(Self.selector, .seconds(900)).values(in: window).values.first == 900)
        #expect(window.fine.times.count < 250)
    }

    @Test func `a series that is there no more has no value, and is forgotten`() {
        var window = window([(0, 1)])
        for second in stride(from: 5, through: 2000, by: 5) { window.add([], at: Self.at(second)) }
        #expect(AlertExpression.latest(Self.selector).values(in: window).isEmpty)
        #expect(window.fine.values.isEmpty)
    }

    @Test(arguments: [
        ([0, 0, 0, 0], 0.99, nil), ([4, 0, 0, 0], 0.5, 0.5), ([0, 100, 0, 0], 0.99, 1.99), ([98, 0, 2, 0], 0.99, 3.0),
        ([0, 0, 0, 5], 0.99, 4.0),
    ])
    func `a quantile is taken by straight lines`(counts: [Int], share: Double, expected: Double?) {
        var vector = AlertVector()
        var running = 0
        for (bound, count) in zip([1, 2, 4, Double.infinity], counts) {
            running += count
            vector[["le": "\(bound)"]] = Double(running)
        }
        let found = vector.quantile(share)[[:]]
        #expect(found.map { ($0 * 1000).rounded() } == expected.map { ($0 * 1000).rounded() })
    }

    @Test func `only what has the same labels is joined`() {
        let (left, right): (AlertVector, AlertVector) = ([["a": "1"]: 6, ["a": "2"]: 8], [["a": "1"]: 3, [:]: 1])
        #expect(left.joined(right, /) == [["a": "1"]: 2])
        #expect(left.summed(by: []) == [[:]: 14])
    }

    @Test func `of two expressions all labels count, and the values of the first`() {
        var window = AlertWindow()
        window.add(
            Self.retries(5) + [MetricFamily(.queueAge, [.init([], .number(7))])], at: Self.at(0))
        let (retries, age) = (AlertExpression.latest(Self.selector), AlertExpression.latest(AlertSelector(.queueAge)))
        #expect(
            AlertExpression.or(retries, age).values(in: window) == [["app": "a", "reason": "slow-down"]: 5, [:]: 7])
        #expect(AlertExpression.or(retries, .scaled(2, retries)).values(in: window).map(\.value) == [5])
        #expect(AlertExpression.or(.above(retries, 9), .scaled(2, retries)).values(in: window).map(\.value) == [10])
    }

    @Test(arguments: [(7999, 0, false), (8000, 0, true), (12, 1, true), (12, 0, false)])
    func `channels run out by their number, or when APNs makes no more`(inUse: Int, refusals: Int, fires: Bool) {
        var (window, book) = (AlertWindow(), AlertBook())
        for step in 0...25 {
            var families = [MetricFamily(.channelsInUse, [.init(["a", "production"], .number(Double(inUse)))])]
            if step > 0, refusals > 0 {
                let labels = ["a", "production", "create", "quota"]
                families.append(MetricFamily(.channelCalls, [.init(labels, .number(Double(refusals)))]))
            }
            window.add(families, at: Self.at(step * 15))
            _ = book.evaluate(
                AlertRule.all, in: window, at: Self.at(step * 15), wall: UnixTime(seconds: Int64(step * 15)))
        }
        #expect(book.firing(in: AlertRule.all).map(\.rule) == (fires ? ["IsletChannelsRunOut"] : []))
    }

    @Test(arguments: [(49, false), (51, true)])
    func `B11: an error rate over 5 percent fires after two minutes, one below does not`(ofThousand: Int, fires: Bool) {
        var (window, book) = (AlertWindow(), AlertBook())
        func firing() -> Bool { book.firing(in: AlertRule.all).contains { $0.rule == "IsletErrorRate" } }
        for step in 0...40 {
            let now = Self.at(step * 15)
            let families = [
                MetricFamily(
                    .deliveries,
                    [("accepted", "none", 1000 - ofThousand), ("service_trouble", "InternalServerError", ofThousand)]
                        .map { .init(["a", "production", "update", $0, $1], .number(Double(step * $2))) })
            ]
            window.add(families, at: now)
            _ = book.evaluate(AlertRule.all, in: window, at: now, wall: UnixTime(seconds: Int64(step * 15)))
            if step * 15 < 120 { #expect(!firing()) }
        }
        #expect(firing() == fires)
    }

    // MARK: - The book

    private static let rule = AlertRule(
        name: "Test", expression: .above(.latest(AlertSelector(.retries)), 3), lasts: .seconds(15), severity: .ticket,
        summary: "{{ $labels.app }} has {{ $value }}", meaning: "")

    @Test func `an alert fires once it has been so for long enough, and is over when it is not`() {
        var (window, book) = (AlertWindow(), AlertBook())
        func look(_ second: Int, _ count: Double) -> [AlertBook.Change] {
            window.add(Self.retries(count), at: Self.at(second))
            return book.evaluate(
                [Self.rule], in: window, at: Self.at(second), wall: UnixTime(seconds: Int64(1000 + second)))
        }
        #expect(look(0, 3).isEmpty && look(5, 4).isEmpty && look(15, 4).isEmpty)
        #expect(book.firing(in: [Self.rule]).isEmpty && book.evaluatedAt == UnixTime(seconds: 1015))
        guard case .fires(let alert)? = look(20, 5.25).first else { return #expect(Bool(false), "it does not fire") }
        #expect(alert.since == UnixTime(seconds: 1005) && alert.text(Self.rule.summary) == "a has 5.25")
        #expect(look(25, 6).isEmpty && book.counts == ["Test": 1])
        #expect(look(30, 3).count == 1 && book.firing(in: [Self.rule]).isEmpty)
        // The duration counts from zero again.
        #expect(look(35, 9).isEmpty && look(45, 9).isEmpty && look(50, 9).count == 1)
    }
}
