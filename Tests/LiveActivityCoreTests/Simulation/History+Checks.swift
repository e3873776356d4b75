import APNSModel
import LiveActivityCore
import TestSupport

extension History {
    /// Changes stop, phones come back, APNs answers well for twenty minutes.
    mutating func quiesce() {
        note("--- quiet")
        isHealthy = true
        let until = scene.now + .seconds(20 * 60)
        for index in phones.indices {
            phones[index].isOnline = true
            catchUp(index)
            register(index)
            for card in phones[index].cards.indices {
                if !phones[index].cards[card].isOver, phones[index].cards[card].token == nil {
                    cardsMade += 1
                    phones[index].cards[card].token = "u-\(cardsMade)"
                }
                report(index, card, phones[index].cards[card].isOver ? .dismissed : .active)
            }
        }
        settleDown(until: until)
        // What the phones show is what they report; one more look mends what a lost answer left behind.
        for index in phones.indices {
            for card in phones[index].cards.indices where !phones[index].cards[card].isOver {
                if phones[index].cards[card].token == nil {
                    cardsMade += 1
                    phones[index].cards[card].token = "u-\(cardsMade)"
                }
                report(index, card)
            }
        }
        settleDown(until: scene.now + .seconds(20 * 60))
    }

    private mutating func settleDown(until: UnixTime) {
        for _ in 0..<4000 {
            tick()
            let next = [
                scene.store.nextWakeAt, inFlight.map(\.settleAt).min(), late.map(\.at).min(),
            ].compactMap { $0 }.min()
            guard let next, next <= until else { return }
            scene.now = max(scene.now + .milliseconds(1), next)
        }
        violate("1: work is due without end")
    }

    mutating func check() {
        for id in Self.activities {
            guard let activity = try? scene.activity(id), activity.phase != .announced,
                let content = scene.store.rows.contents[activity.number]
            else { continue }
            let newest = Self.step(of: content)
            for phone in phones {
                let key = Snapshot.PhoneKey(activity.number, phone.key)
                guard let instance = scene.store.rows.instances[key], instance.run == activity.run else { continue }
                check(phone, instance, activity, id, newest: newest)
            }
        }
        for fault in scene.store.rows.laneFaults { violate(fault) }
        splits += scene.store.rows.lanes.values.reduce(0) { $0 + $1.count - 1 }
        if scene.store.rows.lanes.values.joined().contains(where: { $0.flight != nil }) {
            violate("a flight stays open")
        }
    }

    private mutating func check(
        _ phone: Phone, _ instance: InstanceRecord, _ activity: ActivityRecord, _ id: String, newest: Int
    ) {
        let token = scene.store.rows.updateTokens[.init(activity.number, phone.key)]
        let open = phone.cards.filter { $0.activity == id && $0.run == activity.run && !$0.isOver }
        if open.count > 1 { violate("2: \(open.map(\.id)) of \(id) on \(phone.name)") }
        if activity.phase == .active, instance.isWanted {
            // The first of the invariants: a live instance with a valid token holds the newest revision.
            if instance.state == .live, let token, token.deadAt == nil, instance.heldRevision < activity.revision {
                violate("1: \(phone.name) was not sent revision \(activity.revision) of \(id): \(instance)")
            }
            if let card = open.first, instance.state == .live, instance.localID?.text == card.id, card.step != newest {
                violate("1: \(card.id) of \(id) on \(phone.name) shows \(card.step), not \(newest): \(instance)")
            }
            // A phone without a card that could have one got its start.
            if instance.state == .absent, case .wait? = try? scene.decision(phone.name, of: id) {
            } else if instance.state == .absent, case .send? = try? scene.decision(phone.name, of: id) {
                violate("1: a start for \(phone.name) is due and was not sent: \(instance)")
            }
        } else if let card = open.first, instance.state == .live, token?.deadAt == nil, token != nil {
            violate("1: \(card.id) of ended \(id) on \(phone.name) was not ended: \(instance)")
        }
    }
}
