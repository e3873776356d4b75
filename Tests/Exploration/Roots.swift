import APNSModel
import LiveActivityCore
import TestSupport

extension Situation {
    /// A situation that an exploration begins with: a registered phone, and events that have come before.
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
                (shared + (kind == .watch ? renewals : [])).map { root in
                    Self(name: root.name, kind: kind, focus: focus, events: root.events)
                }
            }
        }

        /// For every type.
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

        /// For the type whose cards are renewed.
        private static let renewals: [(name: String, events: [Event])] = [
            ("to be renewed", live + [.pass(.renewal)]),
            ("successor started", renewed),
            ("renewed", renewed + [.giveToken(card: 2), .report(card: 2, .atOnce)]),
        ]

        private static let start: [Event] = [.put(withAlert: false), .claim(.taken)]
        /// A card that the app has told of, with its token.
        private static let live =
            start + [.settle(0), .pushArrives(0), .giveToken(card: 1), .report(card: 1, .atOnce)]
        private static let renewed = live + [.pass(.renewal), .claim(.taken), .settle(0), .pushArrives(0)]
    }

    /// A phone that registered an hour ago.
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
