package import JSONText
import Tracing

/// JSON encoding of spans for OTLP over HTTP (opentelemetry-proto, `ExportTraceServiceRequest`). Ids are hexadecimal,
/// and 64-bit numbers are text.
package enum OTLPDocument {
    /// Returns the document for these spans.
    ///
    /// - Parameters:
    ///   - service: `service.name`, the sender of the spans.
    ///   - version: `service.version`.
    package static func of(_ spans: [FinishedSpan], service: String, version: String) -> JSONValue {
        .object([
            "resourceSpans": [
                .object([
                    "resource": .object([
                        "attributes": .array([
                            pair("service.name", .string(service)), pair("service.version", .string(version)),
                        ])
                    ]),
                    "scopeSpans": [
                        .object(["scope": .object(["name": "islet"]), "spans": .array(spans.map(document))])
                    ],
                ])
            ]
        ])
    }

    private static func document(_ span: FinishedSpan) -> JSONValue {
        var object: JSONObject = [
            "traceId": .string(span.place.traceID), "spanId": .string(span.place.spanID), "name": .string(span.name),
            "kind": number(kind(span.kind)), "startTimeUnixNano": .string(String(span.start)),
            "endTimeUnixNano": .string(String(span.end)), "attributes": list(span.attributes), "flags": 1,
        ]
        object["parentSpanId"] = span.parent.map { .string(TraceParent.text($0)) }
        if !span.events.isEmpty {
            object["events"] = .array(
                span.events.map {
                    .object([
                        "timeUnixNano": .string(String($0.at)), "name": .string($0.name),
                        "attributes": list($0.attributes),
                    ])
                })
        }
        if !span.links.isEmpty {
            object["links"] = .array(
                span.links.map {
                    .object([
                        "traceId": .string($0.place.traceID), "spanId": .string($0.place.spanID),
                        "attributes": list($0.attributes),
                    ])
                })
        }
        if let status = span.status {
            var words: JSONObject = ["code": status.code == .error ? 2 : 1]
            words["message"] = status.message.map(JSONValue.string)
            object["status"] = .object(words)
        }
        return .object(object)
    }

    private static func kind(_ kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }

    private static func list(_ attributes: SpanAttributes) -> JSONValue {
        var pairs: [(String, JSONValue)] = []
        attributes.forEach { name, value in pairs.append((name, json(value))) }
        return .array(pairs.sorted { $0.0 < $1.0 }.map { .object(["key": .string($0.0), "value": $0.1]) })
    }

    private static func pair(_ name: String, _ value: SpanAttribute) -> JSONValue {
        .object(["key": .string(name), "value": json(value)])
    }

    private static func json(_ value: SpanAttribute) -> JSONValue {
        switch value {
        case .int32(let value): integer(Int64(value))
        case .int64(let value): integer(value)
        case .double(let value): .object(["doubleValue": JSONNumber(value).map(JSONValue.number) ?? .null])
        case .bool(let value): .object(["boolValue": .bool(value)])
        case .int32Array(let values): array(values.map { integer(Int64($0)) })
        case .int64Array(let values): array(values.map(integer))
        case .doubleArray(let values): array(values.map { json(.double($0)) })
        case .boolArray(let values): array(values.map { json(.bool($0)) })
        case .stringArray(let values): array(values.map(text))
        case .stringConvertible(let value): text(value.description)
        case .stringConvertibleArray(let values): array(values.map { text($0.description) })
        case .string(let value): text(value)
        default: text("")
        }
    }

    private static func integer(_ value: Int64) -> JSONValue { .object(["intValue": .string(String(value))]) }
    private static func text(_ value: String) -> JSONValue { .object(["stringValue": .string(value)]) }
    private static func array(_ values: [JSONValue]) -> JSONValue {
        .object(["arrayValue": .object(["values": .array(values)])])
    }
    private static func number(_ value: Int) -> JSONValue { .number(JSONNumber(value)) }
}
