import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import TestSupport
import Testing

/// The phone's own credential: requested, kept, and dropped when it is refused or its person leaves.
struct CredentialTests {
    private static let given = #"{"activities":[],"credential":"islet_device_1"}"#

    private static func wants(_ call: PhoneCall?) -> Bool { PhoneBench.body(call)["wantsCredential"]?.bool == true }

    @Test func `a phone without one asks for it with its registration, and with nothing else`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle()
        #expect(bench.sent.filter(Self.wants).map(\.path) == ["/v1/devices/phone%2F1"])
        #expect(bench.keychain == nil && bench.machine.isSettled, "what is not given is not waited for")
        bench.run { $0.wake($1) }
        #expect(Self.wants(bench.sent.last))
    }

    @Test func `what is given is kept, and not asked for again, also after a kill`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        #expect(bench.keychain == "islet_device_1")
        bench.settle()
        bench.run { $0.wake($1) }
        bench.settle()
        bench.kill()
        bench.launch()
        bench.settle()
        #expect(bench.sent.contains { $0.path.hasSuffix("/phone%2F1") } && !bench.sent.contains(where: Self.wants))
        let memory = try? JSONValue(encoding: bench.disk).text
        #expect(memory?.contains("islet_device_1") == false, "the memory is a file, the credential is for the Keychain")
    }

    @Test func `only a registration brings one`() {
        var bench = PhoneBench.ready()
        bench.answer()
        #expect(bench.sent.last?.path.hasSuffix("/instances") == true)
        bench.answer(200, Self.given)
        #expect(bench.keychain == nil)
    }

    @Test func `one that is refused is dropped, and the next call asks for another at once`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        bench.answer(401, #"{"code":"key_invalid"}"#)
        #expect(bench.keychain == nil)
        #expect(bench.sent.last?.path == "/v1/devices/phone%2F1" && Self.wants(bench.sent.last), "without a pause")
        bench.answer(200, #"{"activities":[],"credential":"islet_device_2"}"#)
        #expect(bench.keychain == "islet_device_2")
        #expect(bench.settle().contains { $0.hasSuffix("/instances/c") }, "what was refused is said again")
    }

    @Test func `where one that was just given is not taken, this process goes on with the person's`() {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        // The server answers the registration. Calls that were made before do not have the new credential.
        for _ in 0..<20 where !bench.machine.isSettled {
            if bench.keychain == nil {
                bench.answer(200, Self.wants(bench.sent.last) ? Self.given : #"{"activities":[]}"#)
            } else {
                bench.answer(401)
            }
        }
        #expect(bench.sent.count(where: Self.wants) == 1 && bench.keychain == nil)
        #expect(bench.machine.isSettled && bench.sent.last?.path.hasSuffix("/instances") == true)
        bench.run { $0.wake($1) }
        #expect(!Self.wants(bench.sent.last))
        bench.settle()
        bench.kill()
        bench.launch()
        #expect(Self.wants(bench.sent.last), "the next process tries again")
    }

    @Test func `a process that loses one after the other asks for no more`() {
        var bench = PhoneBench.ready()
        for _ in 0..<10 {
            bench.answer(200, Self.wants(bench.sent.last) ? Self.given : #"{"activities":[]}"#)
            bench.settle()
            bench.run { $0.wake($1) }
            if bench.keychain != nil { bench.answer(401) }
        }
        #expect(bench.sent.count(where: Self.wants) == 3)
    }

    @Test func `a refusal of the person's own is met with pauses`() {
        var bench = PhoneBench.ready()
        bench.answer(401)
        #expect(bench.sent.count == 1 && bench.machine.nextWake ?? 0 > bench.now.steady)
    }

    @Test func `it is forgotten when the server knows that its person has left, and not before`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.loseAnswer()
        #expect(bench.keychain == "islet_device_1", "the call that says so needs it")
        bench.wait(60_000)
        bench.answer()
        #expect(bench.keychain == nil && bench.machine.isSettled)
    }

    @Test func `where the server has taken it back, the person's own has to say who has left`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.signOut($1) }
        bench.loseAnswer()
        bench.wait(60_000)
        let calls = bench.sent.count
        bench.answer(401)
        #expect(bench.keychain == nil && bench.disk.isLeaving)
        #expect(bench.sent.count == calls + 1 && bench.sent.last?.method == .delete, "at once, without a pause")
        bench.answer(401)
        #expect(bench.sent.count == calls + 1 && bench.disk.isLeaving, "the person's is refused too: later again")
        bench.wait(60_000)
        bench.answer()
        #expect(bench.machine.isSettled && !bench.disk.isLeaving)
    }

    @Test func `another person never speaks with it`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        #expect(bench.keychain == nil && Self.wants(bench.sent.last))

        // A credential that was given to the previous person and arrives late.
        var late = PhoneBench.ready()
        late.run { $0.signIn("bob", $1) }
        late.answer(200, Self.given)
        #expect(late.keychain == nil)
    }

    @Test func `another person shows what the phone was given before, with the registration alone, until it is taken`()
    {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.answer(200, Self.given)
        bench.settle()
        #expect(!bench.sent.contains { $0.showsProof }, "nobody else is there to prove anything to")
        bench.run { $0.signIn("bob", $1) }
        #expect(bench.sent.last?.path == "/v1/devices/phone%2F1" && bench.sent.last?.showsProof == true)
        #expect(bench.keychain == nil && bench.credentials.proof == "islet_device_1")
        bench.loseAnswer()
        bench.kill()
        bench.launch(user: "bob")
        #expect(bench.sent.last?.showsProof == true && Self.wants(bench.sent.last), "also after a kill")
        bench.answer(200, #"{"activities":[],"credential":"islet_device_2"}"#)
        #expect(bench.keychain == "islet_device_2" && bench.credentials.proof == nil)
        bench.settle()
        #expect(bench.sent.count { $0.showsProof } == 1, "what follows is the phone's own word")
    }

    @Test func `the proof is dropped when the next person is known, also where the server gives nothing back`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        bench.settle()
        #expect(bench.credentials == PhoneCredentials() && bench.machine.isSettled)
        bench.run { $0.wake($1) }
        #expect(bench.sent.last?.showsProof == false)
    }

    @Test func `a person whom the server may know takes leave before the next one, where nothing proves the phone`() {
        var bench = PhoneBench.ready()
        // The server may have the call. The credential that it gave in return is lost.
        bench.loseAnswer()
        bench.credentials.borrowed = "ann's"
        bench.run { $0.signIn("bob", $1) }
        #expect(bench.sent.last?.method == .delete && bench.credentials.borrowed == "ann's")
        bench.loseAnswer()
        bench.kill()
        bench.launch(user: "bob")
        #expect(bench.sent.last?.method == .delete && bench.credentials.borrowed == "ann's", "also after a kill")
        bench.answer()
        #expect(bench.sent.last?.method == .put && PhoneBench.body(bench.sent.last)["user"] == "bob")
        #expect(bench.credentials.borrowed == nil, "bob speaks with his own")
    }

    @Test func `whoever leaves before the server took them lets the one before leave too`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        bench.loseAnswer()
        bench.credentials.borrowed = "bob's"
        bench.run { $0.signOut($1) }
        #expect(bench.sent.last?.method == .delete && bench.sent.last?.showsProof == false)
        #expect(bench.keychain == "islet_device_1", "the server may have ann here, who never said that she left")
        bench.answer(401)
        #expect(bench.credentials.own == nil && bench.credentials.proof == nil)
        #expect(bench.credentials.borrowed == "bob's", "it has bob, then")
        #expect(bench.sent.count == 5 && bench.sent.last?.method == .delete, "at once: \(bench.sent)")
        bench.answer()
        #expect(bench.credentials == PhoneCredentials() && bench.machine.isSettled)
    }

    @Test func `where no proof is taken the phone becomes another device, and tells everything anew`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.run { $0.see(startToken: PhoneBench.token(9), for: "order", $1) }
        bench.settle()
        bench.run { $0.signIn("bob", $1) }
        bench.answer(403, #"{"code":"device_taken"}"#)
        #expect(bench.credentials.proof == nil && bench.sent.last?.showsProof == true, "not without a pause")
        bench.kill()
        bench.launch(user: "bob")
        let device = bench.disk.device
        #expect(device.hasPrefix("phone/1~"))
        let path = "/v1/devices/phone%2F1" + device.dropFirst(7)
        #expect(bench.sent.map(\.path) == [path] && bench.sent.last?.showsProof == false)
        #expect(Set(bench.settle()).isSuperset(of: ["PUT \(path)", "PUT \(path)/push-to-start-tokens/order"]))

        // Repeated refusals: each time another id of the same length, after a pause.
        bench.run { $0.wake($1) }
        bench.answer(403, #"{"code":"device_taken"}"#)
        #expect(bench.disk.device.utf8.count <= 24 && bench.machine.nextWake ?? 0 > bench.now.steady)
        // Another 403 does not change the id.
        var other = PhoneBench.ready()
        other.answer(403, #"{"code":"user_differs"}"#)
        #expect(other.disk.device == "phone/1")
    }

    @Test func `a refusal of what was said for the one before costs the next one nothing`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        bench.run { $0.signIn("bob", $1) }
        bench.answer(401)
        #expect(bench.credentials.proof == "islet_device_1")
        #expect(bench.sent.last?.showsProof == true, "without a pause")
    }

    @Test func `what was decided for the one before is not said with what the next one speaks with`() throws {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        bench.run { $0.see(PhoneBench.card("c", token: 1), $1) }
        let waiting = try #require(bench.sent.last)
        #expect(bench.run { $0.isDue(waiting.number, $1) })
        bench.run { $0.signIn("bob", $1) }
        #expect(!bench.run { $0.isDue(waiting.number, $1) })
        let next = try #require(bench.sent.last)
        #expect(next.showsProof && bench.run { $0.isDue(next.number, $1) }, "the next one's turn, at once")
        #expect(!bench.run { $0.isDue(waiting.number, $1) })
    }

    @Test func `a kill between memory and Keychain leaves nobody the other's credential`() throws {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.settle()
        let anns = bench.credentials
        bench.run { $0.signIn("bob", $1) }
        bench.credentials = anns
        bench.kill()
        bench.launch(user: "bob")
        #expect(bench.keychain == nil && bench.credentials.proof == "islet_device_1")
        #expect(bench.sent.last?.showsProof == true && Self.wants(bench.sent.last))

        var leaving = PhoneBench.ready()
        leaving.answer(200, Self.given)
        leaving.settle()
        leaving.run { $0.signOut($1) }
        leaving.answer()
        leaving.credentials = anns
        leaving.kill()
        leaving.launch(user: nil)
        #expect(leaving.credentials == PhoneCredentials())

        // The credential that the memory relies on is kept before the memory is saved.
        var gaining = PhoneBench.ready()
        let call = try #require(gaining.sent.last)
        gaining.machine.answered(
            call.number, PhoneAnswer(status: 200, body: Array(Self.given.utf8)), dice: 0, gaining.now)
        let actions = gaining.machine.takeActions()
        let kept = try #require(actions.firstIndex(of: .change(.keep("islet_device_1", of: "ann"))))
        #expect(kept < (actions.firstIndex(of: .save) ?? 0))
    }

    @Test func `printing what a phone speaks with shows none of it`() {
        var credentials = PhoneCredentials()
        credentials.apply(.keep("islet_device_1", of: "ann"))
        credentials.borrowed = "ann's"
        var text = "\(credentials)"
        dump(credentials, to: &text)
        #expect(!text.contains("islet_device_1") && !text.contains("ann's"))
    }

    @Test func `signing in again as the same person changes nothing`() {
        var bench = PhoneBench.ready()
        bench.answer(200, Self.given)
        bench.run { $0.signIn("ann", $1) }
        #expect(bench.keychain == "islet_device_1")
    }
}
