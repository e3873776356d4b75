import LiveActivityCore

/// An event that can happen next. Nothing else happens at the same instant.
package enum Event: Sendable, Hashable {
    // The backend.
    case put(withAlert: Bool)
    case end
    case leave
    case join
    // The phone and its app, by the number of the card.
    case report(card: UInt8, Travel)
    case reportOver(card: UInt8, Travel)
    case inventory(Travel)
    /// The app announces that it is about to start a card itself.
    case request(Travel)
    case withdraw(Travel)
    /// The app starts the card that it announced.
    case startItself
    case giveToken(card: UInt8)
    case swipe(card: UInt8)
    /// A call that was late reaches the server.
    case callArrives(UInt8)
    // The server's process, by the place of the flight among those that it holds.
    /// The process claims and sends. The fate is that of the push, or `nil` if there is nothing to send.
    case claim(Fate?)
    /// The process is killed between the commit of its claim and the push.
    case claimAndDie
    /// The answer does not come in time, so the process records that it is awaited.
    case await(UInt8)
    case settle(UInt8)
    case die
    // APNs and time.
    case pushArrives(UInt8)
    case pass(Pause)

    /// Path of an app's call through the network.
    package enum Travel: UInt8, Sendable, CaseIterable {
        case atOnce
        /// The call arrives at once, and a copy of it later.
        case twice
        /// The call waits in the network: others may overtake it, and it may never arrive.
        case late
    }

    /// Outcome of a push, and the answer that the process gets.
    package enum Fate: UInt8, Sendable, CaseIterable {
        /// 200.
        case taken
        /// APNs has the push, but its answer is lost.
        case takenAndLost
        /// The push never reaches APNs, and nobody can tell.
        case lost
        /// 410, with the time since which the token has been invalid.
        case tokenDead
        /// 429.
        case slowDown
        /// 503.
        case serviceTrouble
        /// 400, for a reason in the request itself.
        case refused
        /// The push waited in the process until it was too late to send it.
        case notSent
    }

    /// Length of time that passes.
    package enum Pause: UInt8, Sendable, CaseIterable {
        /// One second, because timestamps are whole seconds.
        case second
        /// Until the lease of a flight has expired.
        case lease
        /// Nearly the longest time that the network holds back a call.
        case call
        /// Until the server has something to do.
        case work
        /// Until a start expired so long ago that an inventory proves its failure.
        case start
        /// Until the card is to be renewed.
        case renewal
        /// Until iOS has ended every card.
        case lifetime
    }
}

extension Event {
    /// Description of the event, for a printed history.
    package var words: String {
        switch self {
        case .put(let withAlert): "the backend sets a new state\(withAlert ? " with an alert" : "")"
        case .end: "the backend ends the activity"
        case .leave: "the person leaves the audience"
        case .join: "the person joins the audience"
        case .report(let card, let travel): "the app reports card \(card)\(travel.words)"
        case .reportOver(let card, let travel): "the app reports that card \(card) is over\(travel.words)"
        case .inventory(let travel): "the app sends an inventory\(travel.words)"
        case .request(let travel): "the app is about to start a card itself\(travel.words)"
        case .withdraw(let travel): "the app could not start a card itself\(travel.words)"
        case .startItself: "the app starts a card itself"
        case .giveToken(let card): "iOS gives card \(card) a token"
        case .swipe(let card): "the person swipes card \(card) away"
        case .callArrives: "a late call arrives"
        case .claim(let fate?): "the process claims, and sends: \(fate)"
        case .claim: "the process looks, and has nothing to send"
        case .claimAndDie: "the process claims, and is killed"
        case .await: "an answer is settled as awaited"
        case .settle: "an answer is settled"
        case .die: "the process is killed"
        case .pushArrives: "a push arrives at the phone"
        case .pass(let pause): pause.words
        }
    }
}

extension Event.Travel {
    fileprivate var words: String {
        switch self {
        case .atOnce: ""
        case .twice: ", and the network brings it once more later"
        case .late: ", which the network brings late"
        }
    }
}

extension Event.Pause {
    fileprivate var words: String {
        switch self {
        case .second: "a second passes"
        case .lease: "the lease passes"
        case .call: "110 s pass"
        case .work: "time passes until the server has work"
        case .start: "time passes until the start counts as failed"
        case .renewal: "time passes until the card is to be renewed"
        case .lifetime: "eight hours pass"
        }
    }
}
