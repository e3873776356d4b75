internal import LiveActivityRegistration

/// How the shell performs what the machine decides.
extension ClientEngine {
    /// The machine has one call at a time under way, and gives up one that hangs, in the app's closure perhaps: the
    /// next one does not wait for it.
    func carryCalls() async {
        await Self.each(of: calls) { call, _ in await self.carry(call) }
    }

    /// One after the other, but for one that iOS does not come back from: what is to be said to the server does not
    /// wait for it for ever.
    func carryActions() async {
        await Self.each(of: work) { action, isOver in
            await self.carryOut(action)
            isOver.finish()
        } then: { action, isOver in
            switch action {
            case .update, .end: await self.wait(for: isOver, atMost: self.parts.limits.cardPatience)
            default: for await _ in isOver {}
            }
        }
    }

    /// Begins each, in their order, and none before what is to be awaited `then`; all end with the task.
    private static func each<Element: Sendable>(
        of elements: AsyncStream<Element>,
        _ begin: @escaping @Sendable (Element, AsyncStream<Void>.Continuation) async -> Void,
        then: (Element, AsyncStream<Void>) async -> Void = { _, _ in }
    ) async {
        let carried = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for await element in elements {
                let over = carried.withLock { count -> Int in
                    defer { count = 0 }
                    return count
                }
                for _ in 0..<over { await group.next() }
                let (isOver, input) = AsyncStream.makeStream(of: Void.self)
                group.addTask {
                    await begin(element, input)
                    carried.withLock { $0 += 1 }
                }
                await then(element, isOver)
            }
        }
    }

    private func carryOut(_ action: ClientAction) async {
        switch action {
        case .start(let number, let order):
            // Other cards may have taken a while, in which somebody left.
            guard await ask({ state, _ in state.machine.isWanted(number) }) == true else { return }
            do throws(CardRefusal) {
                guard let port = ports[order.type] else { throw CardRefusal(ActivityError.untrackedType(order.type)) }
                let card = try port.start(order)
                started(number, card)
            } catch {
                notStarted(number, error)
            }
        case .update(let change, let localID, let content, let presentation, let timestamp):
            let card = await onCard(localID) {
                await $0.update(localID, content: content, presentation, timestamp: timestamp)
            }
            if let card { say { $0.updated(change, card, $1) } } else { say { $0.lost(localID, $1) } }
        case .end(let localID, let content, let dismissal, let timestamp):
            let card = await onCard(localID) {
                await $0.end(localID, content: content, dismissal, timestamp: timestamp)
            }
            if let card { say { $0.see(card, $1) } } else { say { $0.lost(localID, $1) } }
        case .send(let call): callInput.yield(call)
        case .look: look()
        case .save, .change, .tell: break
        }
    }

    /// The card belongs to one of the types; the others have none of that id.
    private func onCard(_ localID: String, _ body: (any CardPort) async -> SeenCard?) async -> SeenCard? {
        for port in ports.values {
            if let card = await body(port) { return card }
        }
        return nil
    }
}
