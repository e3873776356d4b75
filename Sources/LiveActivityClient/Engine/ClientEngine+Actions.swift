internal import LiveActivityRegistration

/// The part of the engine that performs what the machine decides.
extension ClientEngine {
    /// Makes the calls. The machine has one call at a time under way and gives up one that hangs, perhaps in the app's
    /// closure. The next call does not wait for it.
    func carryCalls() async {
        await Self.each(of: calls) { call, _ in await self.carry(call) }
    }

    /// Makes the calls that join. None of them waits for another one.
    func carryJoins() async {
        await Self.each(of: joins) { join, _ in await self.carry(join) }
    }

    /// Performs actions one after the other. An update or end from which iOS does not return is waited for only as long
    /// as `cardPatience`, so that it does not delay the reports to the server for ever.
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

    /// Begins each element in order. `then` decides what the next element waits for. All end with the task.
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
            // The actions before this one may have taken a while, in which the person may have signed out.
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

    /// Calls `body` with each type until one has the card. The card belongs to one type, and the others have no card
    /// with this id.
    private func onCard(_ localID: String, _ body: (any CardPort) async -> SeenCard?) async -> SeenCard? {
        for port in ports.values {
            if let card = await body(port) { return card }
        }
        return nil
    }
}
