import APNSModel
import Foundation
import GRDB
import JSONText
import LiveActivityCore

extension ActivityRecord {
    static let columns = """
        no, app, id, type, phase, run, run_started_at, rev, priority, relevance, stale_at, stale_after, start_mode,
        devices, restart, alert, alert_ids, dismissal, changed_at, accepted_at, hold_until, wake_at, ended_at
        """

    init(_ row: Row) throws {
        let app = try decodeBundleID(row["app"], "activity")
        self.init(
            number: row["no"], app: app, id: ActivityID(stored: row["id"]), type: row["type"],
            at: row["run_started_at"])
        phase = try decodeCase(row["phase"], "activity", "phase")
        run = row["run"]
        revision = row["rev"]
        priority = try decodeCase(row["priority"], "activity", "priority")
        relevance = row["relevance"]
        staleAt = row["stale_at"]
        staleAfter = (row["stale_after"] as Int64?).map { .milliseconds($0) }
        start = try decodeCase(row["start_mode"], "activity", "start_mode")
        devices = try ActivityCoding.devices(row["devices"])
        restart = try decodeCase(row["restart"], "activity", "restart")
        alert = try (row["alert"] as String?).map(ActivityCoding.alert)
        alertIDs = try (row["alert_ids"] as String?).map(ActivityCoding.alertIDs) ?? []
        dismissal = try ActivityCoding.dismissal(row["dismissal"])
        changedAt = row["changed_at"]
        acceptedAt = row["accepted_at"]
        holdUntil = row["hold_until"]
        wakeAt = row["wake_at"]
        endedAt = row["ended_at"]
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO activity (\(Self.columns))
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            number, app.text, id.text, type, phase.rawValue, run, runStartedAt, revision, priority.rawValue, relevance,
            staleAt, staleAfter?.columnValue, start.rawValue, ActivityCoding.text(devices), restart.rawValue,
            alert.map(ActivityCoding.text), ActivityCoding.text(alertIDs), ActivityCoding.text(dismissal), changedAt,
            acceptedAt, holdUntil, wakeAt,
            endedAt,
        ])
    }
}

extension ContentRecord {
    init(_ row: Row) throws {
        self.init(
            activity: row["activity"], revision: row["rev"], state: try Self.object(row, "state"),
            digest: UInt64(bitPattern: row["digest"]), attributes: try Self.object(row, "attributes"),
            attributesDigest: UInt64(bitPattern: row["attributes_digest"]))
    }

    func write(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO content (activity, rev, state, digest, attributes, attributes_digest)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
        try statement.execute(arguments: [
            activity, revision, Data(state.bytes), Int64(bitPattern: digest), Data(attributes.bytes),
            Int64(bitPattern: attributesDigest),
        ])
    }

    private static func object(_ row: Row, _ column: String) throws -> EncodedObject {
        let data: Data = row[column]
        do throws(JSONSyntaxError) {
            return try EncodedObject(parsing: Array(data))
        } catch {
            throw DamagedRow(table: "content", column: column)
        }
    }
}

/// The small structured columns of an activity, as JSON.
enum ActivityCoding {
    static func text(_ devices: ActivityRecord.DeviceSelection) -> String {
        switch devices {
        case .lastActive: "lastActive"
        case .all: "all"
        case .only(let ids): JSONValue.array(ids.sorted().map { .string($0.text) }).text
        }
    }

    static func devices(_ text: String) throws -> ActivityRecord.DeviceSelection {
        switch text {
        case "lastActive": return .lastActive
        case "all": return .all
        default:
            guard let values = (try? JSONValue(parsing: text))?.array else {
                throw DamagedRow(table: "activity", column: "devices")
            }
            return .only(Set(values.compactMap { $0.string.map(DeviceID.init(stored:)) }))
        }
    }

    static func text(_ alertIDs: [String]) -> String? {
        alertIDs.isEmpty ? nil : JSONValue.array(alertIDs.map(JSONValue.string)).text
    }

    static func alertIDs(_ text: String) throws -> [String] {
        guard let values = (try? JSONValue(parsing: text))?.array else {
            throw DamagedRow(table: "activity", column: "alert_ids")
        }
        return values.compactMap(\.string)
    }

    static func text(_ dismissal: DismissalWish) -> String {
        switch dismissal {
        case .systemDefault: "default"
        case .immediate: "immediate"
        case .at(let time): String(time.milliseconds)
        case .after(let duration): "+\(duration.columnValue)"
        }
    }

    static func dismissal(_ text: String) throws -> DismissalWish {
        switch text {
        case "default": return .systemDefault
        case "immediate": return .immediate
        default:
            guard let milliseconds = Int64(text) else { throw DamagedRow(table: "activity", column: "dismissal") }
            let isAfter = text.hasPrefix("+")
            return isAfter ? .after(.milliseconds(milliseconds)) : .at(UnixTime(milliseconds: milliseconds))
        }
    }

    static func text(_ alert: AlertRecord) -> String {
        var object: JSONObject = [
            "id": .string(alert.id), "rev": .number(JSONNumber(Int(alert.revision))), "title": value(alert.alert.title),
            "until": .number(JSONNumber(Int(alert.expiresAt.milliseconds))), "keep": .bool(alert.keep),
            "onUnknown": .string(alert.onUnknown.rawValue),
        ]
        object["body"] = alert.alert.body.map(value)
        object["sound"] = alert.alert.sound.map(JSONValue.string)
        return JSONValue.object(object).text
    }

    static func alert(_ text: String) throws -> AlertRecord {
        let damaged = DamagedRow(table: "activity", column: "alert")
        guard let object = (try? JSONValue(parsing: text))?.object, let id = object["id"]?.string,
            let revision = object["rev"]?.int, let title = object["title"].flatMap(alertText),
            let until = object["until"]?.int, let keep = object["keep"]?.bool,
            let onUnknown = object["onUnknown"]?.string.flatMap(AlertRecord.OnUnknown.init(rawValue:))
        else { throw damaged }
        return AlertRecord(
            id: id, revision: Int64(revision),
            alert: PushAlert(title: title, body: object["body"].flatMap(alertText), sound: object["sound"]?.string),
            expiresAt: UnixTime(milliseconds: Int64(until)), keep: keep, onUnknown: onUnknown)
    }

    private static func value(_ text: PushAlert.Text) -> JSONValue {
        switch text {
        case .text(let text): .string(text)
        case .localized(let key, let arguments): .array(([key] + arguments).map(JSONValue.string))
        }
    }

    private static func alertText(_ value: JSONValue) -> PushAlert.Text? {
        switch value {
        case .string(let text): return .text(text)
        case .array(let values):
            let texts = values.compactMap(\.string)
            return texts.first.map { .localized(key: $0, arguments: Array(texts.dropFirst())) }
        default: return nil
        }
    }
}
