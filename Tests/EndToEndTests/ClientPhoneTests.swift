import APNSModel
import APNSSimulator
import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// Phones that run the iOS app's library, against the whole server.
struct ClientPhoneTests {
    @Test func `N6 and W1: a killed app gets its card by a push, and each new token of it takes the updates`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice")
            try stack.simulator.perform(.kill, on: phone)
            try await stack.set("order-1", "preparing", people: ["alice"])
            try await stack.shows("preparing", on: phone)
            try await stack.device("alice", of: "order-1", "is live") { $0.state == "live" }
            for status in ["ready", "delivering"] {
                try stack.simulator.perform(.rotateUpdateToken(localID: nil), on: phone)
                try await stack.reported(phone)
                try await stack.set("order-1", status, people: ["alice"])
                try await stack.shows(status, on: phone)
            }
            try await stack.end("order-1", ["dismissNow": true])
            try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { $0.cards.isEmpty }
        }
    }

    @Test func `N7 and F7: the app's own card is adopted, and an answer brings it to the newest state without a push`()
        async throws
    {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice") { specification in
                specification.appState = .foreground
            }
            _ = try await stack.startLocally(
                .init(
                    attributesType: "OrderTrackingAttributes",
                    attributes: ["orderId": "order-1", "restaurant": "Da Mario"],
                    contentState: ["status": "preparing", "progress": 0.2]), on: phone)
            stack.simulator.faults = [FaultRule(.refuse(status: 503, reason: "ServiceUnavailable"))]
            try await stack.set("order-1", "delivering", people: ["alice"])
            try stack.simulator.perform(.background, on: phone)
            try stack.simulator.perform(.foreground, on: phone)
            try await stack.shows("delivering", on: phone)
            #expect(stack.simulator.received.allSatisfy { $0.status != 200 })
            try stack.simulator.perform(.signIn(user: nil), on: phone)
            try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
                $0.cards.isEmpty && $0.waitingReports == 0
            }
        }
    }
}
