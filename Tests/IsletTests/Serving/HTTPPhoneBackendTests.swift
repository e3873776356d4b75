import APNSModel
import JSONText
import Testing

@testable import APNSSimulator
@testable import islet

struct HTTPPhoneBackendTests {
    private static let answer = #"""
        {"activities":[
          {"activity":"order-1","type":"OrderTracking","state":{"a":1},"revision":3,"phase":"active"},
          {"activity":"order-2","type":"OrderTracking","state":{},"revision":4,"phase":"ended"}]}
        """#

    private func card(_ localID: String, type: String = "OrderTrackingAttributes") throws -> InstanceReport {
        InstanceReport(
            localID: localID, type: type, activity: nil, attributes: ["orderId": "1"], state: .active,
            token: try UpdateToken(hex: String(repeating: "ab", count: 16)), startedAt: UnixTime(milliseconds: 5_000),
            lastTimestamp: UnixTime(milliseconds: 6_000), contentState: ["a": 1], basedOn: nil)
    }

    @Test func `calls go to the phone's path, odd ids percent-encoded, types by the API's name`() async throws {
        try await Answering.with(200, Self.answer) { answering, address in
            let backend = HTTPPhoneBackend(
                islet: JSONCaller(address) { "k" }, types: ["OrderTrackingAttributes": "OrderTracking"])
            let phone = try #require(PhoneID("alice:1"))
            let token = try PushToStartToken(hex: String(repeating: "cd", count: 16))
            let cards = try await backend.pushToStartToken(phone, type: "OrderTrackingAttributes", token: token)
            #expect(cards.map(\.activity) == ["order-1", "order-2"] && cards.map(\.isEnded) == [false, true])
            #expect(cards[0].contentState == ["a": 1])
            _ = try await backend.pushToStartToken(phone, type: "Mine/Été", token: token)
            _ = try await backend.instance(phone, card("A/B ?#"))
            _ = try await backend.inventory(phone, sequence: 7, instances: [card("A"), card("B", type: "Other")])
            try await backend.signOut(phone)
            #expect(
                answering.calls.map(\.line) == [
                    "PUT /v1/devices/alice%3A1/push-to-start-tokens/OrderTracking",
                    "PUT /v1/devices/alice%3A1/push-to-start-tokens/Mine%2F%C3%89t%C3%A9",
                    "PUT /v1/devices/alice%3A1/instances/A%2FB%20%3F%23", "PUT /v1/devices/alice%3A1/instances",
                    "DELETE /v1/devices/alice%3A1",
                ])
            let inventory = try JSONValue(parsing: answering.calls[3].body)
            #expect(inventory[JSONPointer(tokens: ["sequence"])] == 7)
            #expect(inventory[JSONPointer(tokens: ["instances", "0", "type"])] == "OrderTracking")
            #expect(inventory[JSONPointer(tokens: ["instances", "1", "type"])] == "Other")
        }
    }

    @Test func `a phone that registers says all it knows`() async throws {
        try await Answering.with(200, #"{"activities":[]}"#) { answering, address in
            let backend = HTTPPhoneBackend(islet: JSONCaller(address), types: [:])
            let report = DeviceReport(
                user: "alice", platform: "ios", timeZone: "Europe/Rome", locale: "it_IT", osVersion: "18.2",
                appVersion: "1.2", build: "34", model: "iPhone17,1", environment: .sandbox, activitiesEnabled: true,
                frequentPushesEnabled: false, notificationAuthorization: .authorized,
                deviceToken: try DeviceToken(hex: String(repeating: "ef", count: 32)))
            #expect(try await backend.register(try #require(PhoneID("p")), report).isEmpty)
            let body = try JSONValue(parsing: try #require(answering.calls.first).body)
            #expect(
                body == [
                    "user": "alice", "platform": "ios", "timeZone": "Europe/Rome", "locale": "it_IT",
                    "osVersion": "18.2", "appVersion": "1.2", "build": "34", "model": "iPhone17,1",
                    "environment": "sandbox", "activitiesEnabled": true, "frequentPushesEnabled": false,
                    "notificationAuthorization": "authorized",
                    "deviceToken": .string(String(repeating: "ef", count: 32)),
                ])
        }
    }
}
