import Foundation
import HTTPTypes
import JSONText
import LoopbackServer
import Testing

@testable import islet

/// A real server sends spans to a real collector: one trace from the backend's request to the push.
@Suite(.serialized) struct TracingTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    private struct Told: Equatable {
        var name: String
        var id: String
        var parent: String?
        var attributes: [String: String]
    }

    /// Returns the spans of one trace, from everything that was sent.
    private static func spans(_ asked: [Asked]) throws -> [Told] {
        var told: [Told] = []
        for call in asked {
            let resource = try JSONValue(parsing: call.text).object?["resourceSpans"]?.array?.first?.object
            let scope = resource?["scopeSpans"]?.array?.first?.object
            for value in scope?["spans"]?.array ?? [] {
                guard let span = value.object, span["traceId"]?.string == trace else { continue }
                var attributes: [String: String] = [:]
                for pair in span["attributes"]?.array ?? [] {
                    guard let name = pair.object?["key"]?.string, let value = pair.object?["value"]?.object else {
                        continue
                    }
                    attributes[name] = value.map(\.value).first?.string
                }
                told.append(
                    Told(
                        name: span["name"]?.string ?? "", id: span["spanId"]?.string ?? "",
                        parent: span["parentSpanId"]?.string, attributes: attributes))
            }
        }
        return told
    }

    @Test(.timeLimit(.minutes(20)))
    func `from the backend's request to the push is one trace, and the log has a document for each`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok, "{}") }) { address, asked in
            try await withStage { stage in
                let config = stage.directory.appendingPathComponent("islet.yaml")
                let text = try String(contentsOf: config, encoding: .utf8)
                try Data((text + "\ntracing: {endpoint: \"\(address)/v1/traces\"}\n").utf8).write(to: config)
                try await stage.crashServer(environment: ["ISLET_LOG_FORMAT": "json", "ISLET_LOG_LEVEL": "debug"])
                try await stage.addPhone("alice", ["appState": "background"])
                try await Waiting.until("the phone is known", within: .seconds(60)) {
                    try await stage.hasReported("alice")
                }
                let key = stage.key
                let change = JSONValue.object([
                    "type": "OrderTracking", "state": ["status": "preparing", "progress": 0.5],
                    "attributes": ["orderId": "order-1", "restaurant": "Da Mario"], "audience": ["users": ["alice"]],
                ])
                _ = try await JSONCaller(stage.isletAddress) { key }.exchange(
                    .PUT, "/v1/activities/order-1", change.bytes,
                    headers: ["traceparent": "00-\(Self.trace)-00f067aa0ba902b7-01"])
                try await Waiting.until("the push is told", within: .seconds(60)) {
                    try Self.spans(asked()).contains { $0.name == "push start" }
                }
                try await Waiting.until("the flight is told", within: .seconds(60)) {
                    try Self.spans(asked()).contains { $0.name == "flight" }
                }
                let spans = try Self.spans(asked())
                let request = try #require(spans.first { $0.name == "PUT /v1/activities/{activity}" })
                let flight = try #require(spans.first { $0.name == "flight" })
                let push = try #require(spans.first { $0.name == "push start" })
                #expect(request.parent == "00f067aa0ba902b7")
                #expect(spans.contains { $0.name == "decide" && $0.parent == request.id })
                #expect(flight.parent == request.id && push.parent == flight.id)
                #expect(request.attributes["http.response.status_code"] == "200")
                #expect(flight.attributes["islet.activity"] == "order-1" && flight.attributes["islet.revision"] == "1")
                #expect(push.attributes["http.response.status_code"] == "200")
                #expect(push.attributes["apns.priority"] == "10")
                #expect(
                    asked().allSatisfy {
                        $0.line == "POST /v1/traces" && $0.fields["content-type"] == "application/json"
                    })
                try Self.checkLog(of: stage)
            }
        }
    }

    private static func checkLog(of stage: DemoStage) throws {
        let log = try String(contentsOf: stage.directory.appendingPathComponent("server.log"), encoding: .utf8)
        let lines = log.split(separator: "\n").filter { $0.hasPrefix("{") }.compactMap {
            try? JSONValue(parsing: String($0))
        }
        let push = lines.compactMap(\.object).first { $0["message"] == "push" }?["metadata"]?.object
        #expect(push?["kind"] == "start" && push?["activity"] == "order-1" && push?["status"] == "200")
        #expect(push?["apnsID"]?.string?.count == 36)
        #expect(lines.compactMap(\.object).contains { $0["message"] == "request" && $0["level"] == "debug" })
    }
}
