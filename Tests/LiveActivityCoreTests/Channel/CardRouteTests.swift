import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Causes for which a card has an update token although the `delivery` of its type takes channels.
struct CardRouteTests {
    /// Fifty phones by `auto`. The phone can show cards on channels.
    private static func situation(_ name: String, _ change: (inout Situation) -> Void = { _ in }) -> Situation {
        Situation(name) {
            $0.desired.type.policy.delivery = .auto
            $0.desired.phones = DesiredSituation.channelAudience
            $0.phone.device.channels = true
            change(&$0)
        }
    }

    private static func channel(_ change: (inout ChannelRecord) -> Void) -> [ChannelRecord] {
        var channel = ChannelRecord(
            ChannelKey(1, .production, run: 1), app: Sample.bundleID, storage: .mostRecent)
        change(&channel)
        return [channel]
    }

    private static func refused(_ word: String) -> [ChannelRecord] {
        channel { $0.refuse(Reason(.channelRefused, word), retryAt: Sample.now + .seconds(900)) }
    }

    private static var olderContracts: [OlderContract] {
        let state = #"{"type": "object", "properties": {"step": {"type": "integer"}}}"#
        let text = #"{"attributesType": "orderAttributes", "contentState": \#(state)}"#
        guard let build = AppBuild("90"), let contract = try? Contract(JSONValue(parsing: text)) else { return [] }
        return [OlderContract(before: build, contract: contract)]
    }

    static let causes: [(TokenCause, Situation)] = [
        (.phone, situation("iOS 17.4") { $0.phone.device.osVersion = OSVersion(17, 4) }),
        (.phone, situation("an app without channels") { $0.phone.device.channels = nil }),
        (.provider, situation("a provider") { $0.desired.type.isProvided = true }),
        (.olderContracts, situation("an older build") { $0.desired.type.olderContracts = olderContracts }),
        (.oneDevice, situation("one device") { $0.desired.activity.devices = .one($0.phone.device.id) }),
        (.fewPhones, situation("49 phones") { $0.desired.phones -= 1 }),
        (.noChannel, situation("a refusal") { $0.desired.channels = refused("FeatureNotEnabled") }),
        (.noChannel, situation("three tries") { $0.desired.channels = channel { $0.tries = 3 } }),
        (.channelsInUse, situation("8,000 in use") { $0.desired.channels = refused("8001 in use") }),
    ]

    @Test(arguments: causes.indices) func `a start by token says why there is no channel`(index: Int) {
        let (cause, situation) = Self.causes[index]
        let reason = situation.decision.reason
        #expect(reason == Reason(.firstState, cause.rawValue), "\(situation.name)")
        #expect(reason.tokenCause == cause && Reason(stored: reason.stored)?.tokenCause == cause)
        #expect(reason.text.hasSuffix("it has an update token, because \(cause.text)"))
    }

    @Test func `a start on a channel says why there is one`() throws {
        let id = try #require(ChannelID("AAAABBBB"))
        let open = Self.channel { $0.open(id) }
        let situations: [(ChannelCause, Situation)] = [
            (.delivery, Self.situation("delivery") { $0.desired.type.policy.delivery = .channel }),
            (.manyPhones, Self.situation("50 phones")),
            (
                .openJoin,
                Self.situation("open") {
                    $0.desired.phones = 1
                    $0.desired.type.policy.join = .open
                }
            ),
            (.hasChannel, Self.situation("49 phones") { $0.desired.phones -= 1 }),
        ]
        #expect(Set(situations.map(\.0)) == Set(ChannelCause.allCases))
        for (cause, situation) in situations {
            var situation = situation
            situation.desired.channels = open
            let reason = situation.decision.reason
            #expect(reason == Reason(.firstOnChannel, id.text, cause.rawValue), "\(situation.name)")
            #expect(reason.channelCause == cause && Reason(stored: reason.stored)?.channelCause == cause)
            #expect(reason.text.hasSuffix("because \(cause.text)"))
        }
    }

    @Test func `every cause has a scenario and words of its own`() {
        #expect(Set(Self.causes.map(\.0)) == Set(TokenCause.allCases))
        #expect(Set(TokenCause.allCases.map(\.text)).count == TokenCause.allCases.count)
    }

    @Test func `without a cause there is a channel, and a type that takes none needs no cause`() {
        #expect(Self.situation("a channel").decision == .nothing(Reason(.channelPending)))
        for (_, situation) in Self.causes {
            var situation = situation
            situation.desired.type.policy.delivery = .token
            #expect(situation.decision.reason == Reason(.firstState), "\(situation.name)")
            #expect(situation.desired.routeOfApp(on: situation.phone.device) == .token(nil))
        }
    }

    @Test func `channel does not wait for fifty phones, and waits where auto takes tokens`() {
        for name in ["49 phones", "a refusal", "three tries", "8,000 in use"] {
            guard var situation = Self.causes.first(where: { $0.1.name == name })?.1 else {
                Issue.record("there is no \(name)")
                continue
            }
            situation.desired.type.policy.delivery = .channel
            #expect(situation.decision == .nothing(Reason(.channelPending)), "\(name)")
        }
    }
}
