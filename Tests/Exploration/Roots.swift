import APNSModel
import LiveActivityCore
import TestSupport

extension Situation {
    /// Beginning of an exploration: a registered phone and the events so far.
    package struct Root: Sendable {
        package let name: String
        package let kind: Kind
        package let focus: Focus
        package let events: [Event]

        package init(name: String, kind: Kind, focus: Focus, events: [Event]) {
            self.name = name
            self.kind = kind
            self.focus = focus
            self.events = events
        }

        package static let all: [Self] = Kind.allCases.flatMap { kind in
            Focus.allCases.flatMap { focus in
                (shared + late + (kind.renews ? renewals : [])).map { root in
                    Self(name: root.name, kind: kind, focus: focus, events: root.events)
                }
            }
        }

        /// Beginnings for every type.
        private static let shared: [(name: String, events: [Event])] = [
            ("registered", []),
            ("started", start + [.settle(0)]),
            ("killed while starting", start + [.die]),
            ("start lost", [.put(withAlert: false), .claim(.lost), .settle(0)]),
            ("live", live),
            ("swiped away", live + [.swipe(card: 1), .reportOver(card: 1, .atOnce)]),
            (
                "token dead",
                live + [.giveToken(card: 1), .put(withAlert: false), .pass(.second), .claim(.tokenDead), .settle(0)]
            ),
            ("ended", live + [.end, .pass(.second), .claim(.taken), .settle(0)]),
            ("left", live + [.leave, .pass(.second), .claim(.taken), .settle(0)]),
            ("reopened", live + [.end, .put(withAlert: false)]),
            ("alerted", live + [.put(withAlert: true), .pass(.second)]),
        ]

        /// Beginnings with an answer that comes after the card has changed.
        private static let late: [(name: String, events: [Event])] = [
            (
                "start's answer never comes",
                [.put(withAlert: false), .claim(.lost), .await(0), .die]
                    + [.claim(nil), .pass(.work), .claim(nil), .pass(.work)]
            ),
            ("reopened before a dead token's answer", reopened(.taken)),
            ("reopened before a dead token's answer, and refused", reopened(.slowDown) + [.settle(1)]),
            (
                "own card is over before it is reported",
                [.put(withAlert: false), .request(.atOnce), .startItself, .claim(nil), .pass(.work), .claim(.slowDown)]
                    + [.settle(0), .swipe(card: 1)]
            ),
            (
                "start's flight lost, then refused",
                [.put(withAlert: false), .claim(.slowDown), .pass(.work), .claim(nil), .settle(0)]
            ),
            ("announced by the app", [.put(withAlert: false), .request(.atOnce), .claim(nil), .pass(.work)]),
            (
                "announced, and the old card is reported over",
                live + [.swipe(card: 1), .inventory(.atOnce), .request(.atOnce), .reportOver(card: 1, .atOnce)]
            ),
            ("start given up, and lost", givenUp(.lost)),
            ("start given up, and refused", givenUp(.slowDown)),
            (
                "ended before the start's answer",
                start + reported(1) + [.end, .pass(.lease), .claim(nil), .claim(.taken), .settle(1)]
            ),
            (
                "own card ended before the start's refusal",
                givenUp(.slowDown) + [.request(.atOnce), .startItself, .giveToken(card: 1), .report(card: 1, .atOnce)]
                    + [.end, .claim(.taken), .settle(1)]
            ),
            (
                "announced again before the end's answer",
                live + [.end, .pass(.second), .claim(.taken), .pushArrives(0), .reportOver(card: 1, .atOnce)]
            ),
            (
                "swiped away before a dead token's answer",
                live
                    + [
                        .giveToken(card: 1), .put(withAlert: false), .pass(.second), .claim(.tokenDead),
                        .swipe(card: 1),
                    ]
                    + [.reportOver(card: 1, .atOnce)]
            ),
            (
                "back before the end's answer",
                live + [.leave, .pass(.second), .claim(.taken), .pushArrives(0), .reportOver(card: 1, .atOnce), .join]
                    + [.pass(.work), .claim(nil), .claim(.taken)]
            ),
        ]

        /// Beginnings for types whose cards are renewed.
        private static let renewals: [(name: String, events: [Event])] = [
            ("to be renewed", live + [.pass(.renewal)]),
            ("successor started", renewed),
            ("renewed", renewed + [.giveToken(card: 2), .report(card: 2, .atOnce)]),
            ("swiped away beside a successor", renewed + [.swipe(card: 1), .reportOver(card: 1, .atOnce)]),
            (
                "back to a successor after the end",
                renewed + [.leave, .pass(.second), .claim(.taken), .settle(0), .pushArrives(0)]
                    + [.reportOver(card: 1, .atOnce), .join]
            ),
            (
                "back to a successor before the end's answer",
                renewed + [.leave, .pass(.second), .claim(.taken), .settle(0), .pass(.work), .claim(.taken), .join]
            ),
        ]

        private static func givenUp(_ fate: Event.Fate) -> [Event] {
            [.put(withAlert: false), .claim(fate), .pass(.work), .claim(nil), .pass(.start), .inventory(.atOnce)]
        }

        private static func reopened(_ fate: Event.Fate) -> [Event] {
            live + [.giveToken(card: 1), .put(withAlert: false), .pass(.second), .claim(.tokenDead), .end]
                + [.swipe(card: 1), .reportOver(card: 1, .atOnce), .put(withAlert: false), .pass(.lease)]
                + [.claim(nil), .claim(fate)]
        }

        private static func reported(_ card: UInt8) -> [Event] {
            [.pushArrives(0), .giveToken(card: card), .report(card: card, .atOnce)]
        }

        private static let start: [Event] = [.put(withAlert: false), .claim(.taken)]
        /// A card that the app has reported with its token.
        private static let live =
            start + [.settle(0)] + reported(1)
        private static let renewed = live + [.pass(.renewal), .claim(.taken), .settle(0), .pushArrives(0)]
    }

    /// Returns a situation with a phone that registered an hour ago.
    package static func registered(_ kind: Kind, _ focus: Focus) -> Self {
        var first = Self(kind, focus)
        let earlier = Sample.now - .seconds(3600)
        var body = RegisterDevice.Body(user: user)
        body.osVersion = OSVersion(18, 0)
        body.activitiesEnabled = true
        body.environment = .production
        body.notificationAuthorization = "authorized"
        var store = ModelStore()
        _ = store.run(RegisterDevice(app: Kind.app, id: device, body: body, now: earlier, freshKey: deviceKey))
        for kind in Kind.allCases {
            _ = store.run(
                RegisterPushToStartToken(
                    app: Kind.app, id: device, type: kind.rawValue,
                    token: Sample.token("start", as: PushToStartTokenKind.self), now: earlier))
        }
        first.rows = store.rows
        return first
    }
}
