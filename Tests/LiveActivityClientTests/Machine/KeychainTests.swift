import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Stored credentials, and their handling by a new process.
struct KeychainTests {
    private static func kept(
        own: String? = nil, proof: String? = nil, borrowed: String? = nil, of person: String? = nil
    ) -> PhoneCredentials {
        var credentials = PhoneCredentials()
        if let own, let person { credentials.apply(.keep(own, of: person)) }
        if let borrowed { credentials.borrow(borrowed, of: person) }
        credentials.own = own
        credentials.proof = proof
        return credentials
    }

    @Test func `each change leaves what it should and nothing else`() {
        let all = Self.kept(own: "own", proof: "proof", borrowed: "ann's", of: "ann")
        var kept = all
        kept.apply(.keep("new", of: "bob"))
        #expect(kept == Self.kept(own: "new", of: "bob") && kept.person == "bob")
        var next = all
        next.apply(.turnIntoProof)
        #expect(next == Self.kept(proof: "own") && next.person == nil)
        next.apply(.turnIntoProof)
        #expect(next.proof == "own", "of several before, the one whom the server knows")
        next.apply(.turnIntoOwn)
        #expect(next.own == "own" && next.proof == nil)
        var dropped = all
        dropped.apply(.dropProof)
        #expect(dropped.proof == nil && dropped.own == "own" && dropped.borrowed == "ann's")
        dropped = all
        dropped.apply(.dropOwn)
        #expect(dropped.own == nil && dropped.proof == nil && dropped.borrowed == "ann's" && dropped.person == "ann")
        dropped.apply(.dropAll)
        #expect(dropped == PhoneCredentials())
    }

    /// Returns the memory while Ann is signed in, is leaving, or has left.
    private static func memory(_ change: (inout PhoneBench) -> Void) -> RegistrationMemory {
        var bench = PhoneBench.ready()
        bench.settle()
        change(&bench)
        return bench.disk
    }

    @Test func `a new process finishes what the one before left undone, and only that`() {
        let ann = Self.memory { _ in }
        let leaving = Self.memory { $0.run { $0.signOut($1) } }
        let nobody = Self.memory {
            $0.run { $0.signOut($1) }
            $0.answer()
        }
        let cases: [(memory: RegistrationMemory, found: PhoneCredentials, change: PhoneCredentials.Change?)] = [
            (ann, Self.kept(), nil),
            (ann, Self.kept(own: "a", of: "ann"), nil),
            (ann, Self.kept(borrowed: "a", of: "ann"), nil),
            (ann, Self.kept(proof: "z"), nil),
            (ann, Self.kept(own: "z", of: "zoe"), .turnIntoProof),
            (ann, Self.kept(borrowed: "z", of: "zoe"), .turnIntoProof),
            (leaving, Self.kept(proof: "z"), .turnIntoOwn),
            (leaving, Self.kept(own: "a", proof: "z", of: "ann"), nil),
            (leaving, Self.kept(borrowed: "a", of: "ann"), nil),
            (leaving, Self.kept(), nil),
            (nobody, Self.kept(own: "a", of: "ann"), .dropAll),
            (nobody, Self.kept(proof: "z"), .dropAll),
            (nobody, Self.kept(), nil),
        ]
        for (memory, found, change) in cases {
            var machine = RegistrationMachine(memory, types: PhoneBench.types, credentials: found)
            let changes = machine.takeActions().compactMap { action -> PhoneCredentials.Change? in
                if case .change(let change) = action { change } else { nil }
            }
            #expect(changes == (change.map { [$0] } ?? []), "\(memory.user ?? "nobody") \(changes)")
        }
    }

    @Test func `of several people before the first call the server is shown the one whom it knows`() {
        var bench = PhoneBench.ready()
        bench.answer(200, #"{"activities":[],"credential":"islet_device_1"}"#)
        bench.settle()
        bench.kill()
        bench.run { $0.signIn("bob", $1) }
        bench.run { $0.signIn("cleo", $1) }
        #expect(bench.sent.isEmpty && bench.credentials.proof == "islet_device_1")
        bench.launch(user: "cleo")
        #expect(bench.sent.last?.method == .put && bench.sent.last?.showsProof == true)
    }

    @Test func `another device's first call shows no proof, and says everything`() {
        var bench = PhoneBench.ready()
        bench.answer(200, #"{"activities":[],"credential":"islet_device_1"}"#)
        bench.run { $0.see(startToken: PhoneBench.token(9), for: "order", $1) }
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        bench.answer(403, #"{"code":"device_taken"}"#)
        // Nobody is known under the new id, so the next person shows no proof.
        bench.run { $0.signIn("cleo", $1) }
        #expect(bench.sent.last?.method == .put && bench.sent.last?.showsProof == false)
        #expect(bench.sent.last?.path.contains("~") == true)
        let said = bench.settle()
        #expect(said.contains { $0.hasSuffix("/push-to-start-tokens/order") })
        #expect(said.contains { $0.hasSuffix("/instances") })

        // Holds also if it is discovered while the person is signed in.
        var staying = PhoneBench.ready()
        staying.run { $0.see(startToken: PhoneBench.token(9), for: "order", $1) }
        staying.settle()
        staying.run { $0.see(PhoneBench.facts { $0.timeZone = "Europe/Rome" }, $1) }
        staying.answer(403, #"{"code":"device_taken"}"#)
        staying.wait(1_000)
        let again = staying.settle()
        #expect(again.contains { $0.hasSuffix("/push-to-start-tokens/order") && $0.contains("~") })
        #expect(again.contains { $0.hasSuffix("/instances") })
    }

    @Test func `the memory is written before anything follows from it`() throws {
        var bench = PhoneBench()
        bench.machine.signIn("ann", bench.now)
        bench.machine.see(PhoneBench.facts(), bench.now)
        let actions = bench.machine.takeActions()
        let save = try #require(actions.firstIndex(of: .save))
        let send = try #require(actions.firstIndex { if case .send = $0 { true } else { false } })
        #expect(save < send)
    }

    @Test func `after a kill the word of a leave waits until the cards are known, and ended`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.kill()
        bench.run { $0.see(PhoneBench.facts(), $1) }
        #expect(bench.sent.isEmpty)
        bench.run { $0.see(all: [PhoneBench.card("c", token: 1)], $1) }
        #expect(bench.ended == ["c"])
        #expect(bench.sent.last?.method == .delete)
    }

    @Test func `what was decided before a leave is not due after it, and no start outlives it`() throws {
        var bench = PhoneBench.ready()
        let waiting = try #require(bench.sent.last)
        bench.run { $0.signOut($1) }
        #expect(!bench.run { $0.isDue(waiting.number, $1) })

        for isLeave in [true, false] {
            var starting = PhoneBench.ready()
            starting.settle()
            starting.run { _ = $0.start(PhoneBench.order(), $1) }
            starting.run { isLeave ? $0.signOut($1) : $0.signIn("bob", $1) }
            starting.wait(3_000)
            #expect(starting.cardActions.isEmpty)
        }
    }

    @Test func `what is known of one person's activities says nothing of the next one's`() {
        var bench = PhoneBench.ready()
        bench.settle(PhoneBench.wish(step: 1, revision: 1, phase: "ended"))
        bench.run { $0.signIn("bob", $1) }
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        bench.settle()
        var over = PhoneBench.card("c")
        over.state = .dismissed
        bench.run { $0.see(over, $1) }
        #expect(PhoneBench.body(bench.sent.last)["state"]?.string == "dismissed")

        var failed = PhoneBench.ready()
        failed.run { $0.setForeground(true, $1) }
        let wish = PhoneBench.wish(step: 1, revision: 1, starts: true)
        failed.settle(wish)
        failed.run { $0.notStarted(1, "denied", $1) }
        failed.run { $0.signIn("bob", $1) }
        failed.answer()
        failed.settle(wish)
        #expect(failed.cardActions.count { if case .start = $0 { true } else { false } } == 2)
    }
}
