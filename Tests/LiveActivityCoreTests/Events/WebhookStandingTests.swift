import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct WebhookStandingTests {
    private static func place(_ change: (inout WebhookPlace) -> Void = { _ in }) -> WebhookPlace {
        var place = WebhookPlace(WebhookKey(Sample.bundleID, "backend"), position: 4)
        change(&place)
        return place
    }

    private static func fails(_ place: inout WebhookPlace) {
        (place.failures, place.failingSince, place.failure) = (9, Sample.now, "HTTP 500")
    }

    @Test func `what needs nobody has nothing to do`() {
        let standing = WebhookStanding(Self.place(), isConfigured: true, dead: 0)
        #expect(standing.state == .on && standing.since == nil && standing.reason == nil && standing.fix == nil)
    }

    @Test func `one that is off says since when, why, and how it is turned on`() {
        let place = Self.place {
            Self.fails(&$0)
            $0.disabledAt = Sample.now + .seconds(60)
        }
        let standing = WebhookStanding(place, isConfigured: true, dead: 3)
        #expect(standing.state == .off && standing.since == Sample.now + .seconds(60))
        #expect(standing.reason == "HTTP 500")
        #expect(standing.fix?.contains("`islet webhooks enable backend`") == true)
    }

    @Test func `one that fails is looked at, and what was given up is replayed`() {
        let place = Self.place(Self.fails)
        let failing = WebhookStanding(place, isConfigured: true, dead: 1)
        #expect(failing.state == .failing && failing.since == Sample.now && failing.reason == "HTTP 500")
        #expect(failing.fix?.contains("check the endpoint") == true)
        #expect(failing.fix?.contains("1 event was given up: `islet webhooks replay backend`") == true)
        let fine = WebhookStanding(Self.place(), isConfigured: true, dead: 2)
        #expect(fine.state == .on && fine.fix?.hasPrefix("2 events were given up") == true)
    }

    @Test func `one without a server, or without a configuration, says so`() {
        #expect(WebhookStanding(nil, isConfigured: true, dead: 0).state == .new)
        #expect(WebhookStanding(Self.place(Self.fails), isConfigured: false, dead: 0).state == .removed)
    }
}
