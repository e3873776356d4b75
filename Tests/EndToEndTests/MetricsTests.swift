import APNSClient
import APNSModel
import APNSSimulator
import Foundation
import LiveActivityAPI
import Testing

@testable import islet

/// Metrics that an operator sees while an order reaches a phone.
@Suite(.serialized) struct MetricsTests {
    @Test func `an order moves the metrics, and its secrets and ids stay out of them`() async throws {
        try await Stack.run { stack in
            let phone = try await stack.phone("alice-4711")
            try await stack.set("order-4711", "preparing", people: ["alice-4711"])
            try await stack.shows("preparing", on: phone)
            try await stack.reported(phone)
            try await stack.set("order-4711", "ready", people: ["alice-4711"])
            try await stack.shows("ready", on: phone)
            try await stack.device("alice-4711", of: "order-4711", "has the state") { $0.revision == 2 }

            let text = try await JSONCaller(stack.address).text("/metrics")
            let lines = Set(text.split(separator: "\n").map(String.init))
            let app = #"app="com.example.pizza",environment="sandbox""#
            for expected in [
                #"islet_deliveries_total{\#(app),kind="start",verdict="accepted",reason="none"} 1"#,
                #"islet_deliveries_total{\#(app),kind="update",verdict="accepted",reason="none"} 1"#,
                #"islet_push_answer_seconds_count{environment="sandbox"} 2"#,
                #"islet_delivery_lag_seconds_count{environment="sandbox"} 2"#,
                #"islet_apns_connections{environment="sandbox"} 1"#,
                #"islet_http_requests_total{route="/v1/activities/{activity}",method="PUT",status="200"} 2"#,
                "islet_pushes_in_flight 0", #"islet_build_info{version="\#(Islet.version)"} 1"#,
            ] {
                #expect(lines.contains(expected), "\(expected) is not in\n\(text)")
            }
            for rank in ["write", "settle", "claim"] {
                #expect(!lines.contains(#"islet_store_commands_total{rank="\#(rank)"} 0"#))
            }
            // No id, and nothing as long as a token or a key. Values are numbers with any number of digits.
            let names = lines.map { $0.hasPrefix("#") ? $0 : String($0.prefix { $0 != " " }) }.joined(separator: "\n")
            for secret in ["4711", stack.key, String(stack.key.prefix(12)), stack.directory.lastPathComponent] {
                #expect(!names.contains(secret), "\(secret.prefix(12))")
            }
            #expect(names.firstMatch(of: /[0-9a-fA-F]{12,}/).map { String($0.output) } == nil)
            for status in stack.client.status {
                #expect(!names.contains(status.keyID) && !names.contains(status.teamID))
            }
        }
    }
}
