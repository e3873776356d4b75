import JSONText
import LiveActivityAPI
import Logging

/// A log handler for collectors, which writes one JSON document per line.
///
/// The members are `time`, `level`, `logger`, the constant `message`, and `metadata` with the values.
struct JSONLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.info

    private let label: String
    private let now: @Sendable () -> Instant
    private let write: @Sendable (String) -> Void

    init(
        label: String, now: @escaping @Sendable () -> Instant = { .current },
        write: @escaping @Sendable (String) -> Void
    ) {
        self.label = label
        self.now = now
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        var line: JSONObject = [
            "time": .string(now().description),
            "level": .string(event.level.rawValue), "logger": .string(label),
            "message": .string(event.message.description),
        ]
        line["error"] = event.error.map { .string("\($0)") }
        if !all.isEmpty { line["metadata"] = Self.json(.dictionary(all)) }
        write(JSONValue.object(line).text)
    }

    private static func json(_ value: Logger.Metadata.Value) -> JSONValue {
        switch value {
        case .string(let text): return .string(text)
        case .stringConvertible(let value): return .string(value.description)
        case .array(let values): return .array(values.map(json))
        case .dictionary(let values):
            var object = JSONObject()
            for (name, value) in values.sorted(by: { $0.key < $1.key }) { object[name] = json(value) }
            return .object(object)
        }
    }
}
