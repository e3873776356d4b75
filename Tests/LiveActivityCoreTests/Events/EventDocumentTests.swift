import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct EventDocumentTests {
    @Test func `an event is told with what it has, and nothing else`() {
        var record = EventRecord(.tokenDead, app: Sample.bundleID, at: Sample.now + .milliseconds(42))
        record.activity = 4
        record.run = 2
        record.device = 7
        record.revision = 9
        record.reason = .tokenInactive
        record.subject = .updateToken
        var event = StoredEvent(
            number: 17, record: record, activity: Sample.activityID("order-1"), device: Sample.device("phone"))
        #expect(
            event.document == [
                "id": "17", "type": "token-dead", "timestamp": "2026-11-21T14:32:00.042Z", "app": "com.acme.pizza",
                "activity": "order-1", "run": 2, "revision": 9, "device": "phone", "reason": "token-inactive",
                "token": "update",
            ])
        event.record.at = Sample.now
        event.activity = nil
        event.device = nil
        event.record.subject = .production
        #expect(
            event.document == [
                "id": "17", "type": "token-dead", "timestamp": "2026-11-21T14:32:00Z", "app": "com.acme.pizza",
                "run": 2, "revision": 9, "reason": "token-inactive", "environment": "production",
            ])
    }

    @Test func `its id is the same each time, and another one's is another`() {
        let record = EventRecord(.ended, app: Sample.bundleID, at: Sample.now)
        let event = StoredEvent(number: 17, record: record)
        #expect(event.messageID == StoredEvent(number: 17, record: record).messageID)
        #expect(event.messageID != StoredEvent(number: 18, record: record).messageID)
        // After a restore, the number is used again with another time.
        var later = record
        later.at = Sample.now + .milliseconds(1)
        #expect(event.messageID != StoredEvent(number: 17, record: later).messageID)
    }

    @Test(arguments: EventRecord.Kind.allCases) func `every kind is found by its name`(kind: EventRecord.Kind) {
        #expect(EventRecord.Kind(name: kind.name) == kind)
        #expect(EventRecord.Kind(name: kind.name + "x") == nil)
    }
}
