import LiveActivityCore
package import TestSupport

/// Breadth-first search through every order of events on one card.
///
/// Each situation is visited once, however it was reached. The first history that breaks a promise is therefore a
/// shortest one.
package struct Explorer: Sendable {
    package struct Limits: Sendable {
        /// Largest number of events after a root.
        package var depth = 12
        /// Largest number of distinct situations.
        package var situations = 10_000_000
        package var workers = 1
        /// Number of situations of a layer that stay in memory. The others are played again from their root.
        package var kept = 1_000_000
        /// Sampling rate of the check at rest: one situation in so many.
        package var restOneIn = 1

        package init() {}
    }

    /// A history that breaks a promise.
    package struct Failure: Sendable {
        package let root: Situation.Root
        package let events: [Event]
        package let violation: Violation
        /// `true` if the promise was broken after everything had come to rest.
        package let isAtRest: Bool
    }

    package struct Report: Sendable {
        /// Number of distinct situations at each depth.
        package var layers: [Int] = []
        /// Number of events that were played.
        package var transitions = 0
        package var rests = 0
        package var cells = Cells()
        package var failures: [Failure] = []
        package var situations: Int { layers.reduce(0, +) }
    }

    private struct Node {
        var parent: Int32
        var event: Event
    }

    private struct Found: Sendable {
        var fingerprint: UInt64
        var parent: Int32
        var event: Event
        var situation: Situation
    }

    private struct Part: Sendable {
        var found: [Found] = []
        var failures: [(parent: Int32, event: Event?, violation: Violation)] = []
        var transitions = 0
        var rests = 0
        var cells = Cells()
    }

    private let limits: Limits
    private let roots: [Situation.Root]
    private let trap: Trap?
    private var nodes: [Node] = []
    private var visited = FingerprintSet()

    /// A promise that is broken on purpose, to test the handling of a failure.
    package typealias Trap = @Sendable (Situation) -> Violation?

    package init(roots: [Situation.Root] = Situation.Root.all, limits: Limits = Limits(), trap: Trap? = nil) {
        self.roots = roots
        self.limits = limits
        self.trap = trap
    }

    /// - Parameter tell: Called after each layer with its depth and the report so far.
    package mutating func search(_ tell: (Int, Report) -> Void = { _, _ in }) async -> Report {
        var report = Report()
        var layer: [(node: Int32, situation: Situation?)] = []
        for (index, root) in roots.enumerated() {
            var situation = Situation.registered(root.kind, root.focus)
            if let failure = begin(root, &situation, &report.cells) {
                report.failures.append(failure)
                continue
            }
            guard visited.insert(situation.fingerprint) else { continue }
            nodes.append(Node(parent: -1 - Int32(index), event: .die))
            layer.append((Int32(nodes.count - 1), situation))
        }
        report.layers.append(layer.count)
        tell(0, report)
        for depth in 1...limits.depth where report.failures.isEmpty && !layer.isEmpty {
            layer = await expand(layer, &report)
            tell(depth, report)
            if report.situations >= limits.situations { break }
        }
        return report
    }

    /// Plays the events of a root. Each must be possible and break no promise.
    private func begin(_ root: Situation.Root, _ situation: inout Situation, _ cells: inout Cells) -> Failure? {
        for (index, event) in root.events.enumerated() {
            // The focus of a root leaves out events of its beginning.
            let broken =
                situation.withEveryEvent.events().contains(event)
                ? situation.play(event, &cells)
                : Violation(
                    rule: .newestArrives,
                    text: "this cannot come next: \(event.words); this can: "
                        + situation.withEveryEvent.events().map(\.words).joined(separator: ", "))
            guard let broken else { continue }
            let begun = Situation.Root(
                name: root.name, kind: root.kind, focus: root.focus, events: Array(root.events[...index]))
            return Failure(root: begun, events: [], violation: broken, isAtRest: false)
        }
        return nil
    }

    /// Number of situations that are expanded before their successors are looked up.
    private static let chunk = 8192

    private mutating func expand(
        _ layer: [(node: Int32, situation: Situation?)], _ report: inout Report
    ) async -> [(node: Int32, situation: Situation?)] {
        var next: [(node: Int32, situation: Situation?)] = []
        report.layers.append(0)
        var start = 0
        while start < layer.count, report.situations < limits.situations {
            let end = min(start + Self.chunk, layer.count)
            for part in await expand(layer[start..<end]) {
                report.transitions += part.transitions
                report.rests += part.rests
                report.cells.add(part.cells)
                for found in part.found where visited.insert(found.fingerprint) {
                    nodes.append(Node(parent: found.parent, event: found.event))
                    report.layers[report.layers.count - 1] += 1
                    next.append((Int32(nodes.count - 1), next.count < limits.kept ? found.situation : nil))
                }
                for failure in part.failures {
                    let (root, events) = path(to: failure.parent)
                    report.failures.append(
                        Failure(
                            root: root, events: events + [failure.event].compactMap(\.self),
                            violation: failure.violation, isAtRest: failure.event == nil))
                }
            }
            start = end
        }
        return next
    }

    private func expand(_ slice: ArraySlice<(node: Int32, situation: Situation?)>) async -> [Part] {
        let size = (slice.count + limits.workers - 1) / limits.workers
        let explorer = self
        return await withTaskGroup(of: (Int, Part).self) { group in
            for worker in 0..<limits.workers {
                let from = min(slice.startIndex + worker * size, slice.endIndex)
                let mine = slice[from..<min(from + size, slice.endIndex)]
                group.addTask { (worker, explorer.expandAll(mine)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func expandAll(_ slice: ArraySlice<(node: Int32, situation: Situation?)>) -> Part {
        var part = Part()
        for (node, kept) in slice {
            let situation = kept ?? replay(node)
            if limits.restOneIn > 0, Int(node) % limits.restOneIn == 0 {
                part.rests += 1
                if let violation = situation.atRest() { part.failures.append((node, nil, violation)) }
            }
            for event in situation.events() {
                var next = situation
                part.transitions += 1
                if let violation = next.play(event, &part.cells) ?? trap?(next) {
                    part.failures.append((node, event, violation))
                    continue
                }
                let fingerprint = next.fingerprint
                guard !visited.contains(fingerprint) else { continue }
                part.found.append(Found(fingerprint: fingerprint, parent: node, event: event, situation: next))
            }
        }
        return part
    }

    private func path(to node: Int32) -> (root: Situation.Root, events: [Event]) {
        var (events, node) = ([Event](), node)
        while nodes[Int(node)].parent >= 0 {
            events.append(nodes[Int(node)].event)
            node = nodes[Int(node)].parent
        }
        return (roots[-1 - Int(nodes[Int(node)].parent)], events.reversed())
    }

    private func replay(_ node: Int32) -> Situation {
        let (root, events) = path(to: node)
        var (situation, cells) = (Situation.registered(root.kind, root.focus), Cells())
        for event in root.events + events { _ = situation.play(event, &cells) }
        return situation
    }
}

extension Explorer.Failure {
    /// The history, line by line: the time, the event, and the card's state after it.
    package var lines: [String] {
        var (situation, cells) = (Situation.registered(root.kind, root.focus), Cells())
        var lines = [
            "\(situation.now)  a phone is registered, type \(root.kind.rawValue), focus \(root.focus.rawValue)"
        ]
        for event in root.events + events {
            guard situation.withEveryEvent.events().contains(event) else { break }
            _ = situation.play(event, &cells)
            lines.append("\(situation.now)  \(event.words) → \(situation.words)")
        }
        if isAtRest { lines.append("then everything arrives, and nothing goes wrong any more") }
        return lines + ["VIOLATED \(violation.rule.title): \(violation.text)"]
    }
}

extension Situation {
    /// The card as the server knows it and as the phone shows it, in one line.
    fileprivate var words: String {
        let row = instance.map { "\($0.state.name), sent r\($0.sentRevision)" } ?? "no row"
        let shown = phone.cards.map { "card \($0.number) \($0.end.map { "over (\($0))" } ?? "at r\($0.revision)")" }
        return "\(row); the phone shows \(shown.isEmpty ? "nothing" : shown.joined(separator: ", "))"
    }
}
