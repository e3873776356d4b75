import APNSModel
import Foundation
import JSONText
import LiveActivityCore

extension ActivityRecord: StoredRow {
    static let table = "activity"
    static let columns = [
        "no", "app", "id", "type", "phase", "run", "run_started_at", "rev", "priority", "relevance", "stale_at",
        "stale_after", "start_mode", "devices", "restart", "alert", "fallback", "alert_ids", "dismissal", "changed_at",
        "accepted_at", "hold_until", "lap", "begun_lap", "wake_at", "refresh_at",
        "refreshed_since", "ended_at", "client_seq", "channels",
    ]
    static let keyColumns = ["no"]
    static let fixedColumns: Set<String> = ["app", "id"]
    /// The columns that `ActivityRecord.stands(where:)` compares.
    static let placeColumns: Set<String> = ["phase", "run_started_at", "ended_at"]

    init(_ row: inout RowReader) throws {
        let number = row.int()
        let app = try decodeBundleID(row.text(), Self.table)
        let id = ActivityID(stored: row.text())
        let type = row.text()
        self.init(number: number, app: app, id: id, type: type, at: UnixTime(milliseconds: 0))
        phase = try decodeCase(row.text(), Self.table, "phase")
        run = Int(row.int())
        runStartedAt = row.time()
        revision = row.int()
        priority = try decodeCase(row.text(), Self.table, "priority")
        relevance = row.doubleOrNil()
        staleAt = row.timeOrNil()
        staleAfter = row.intOrNil().map { .milliseconds($0) }
        start = try decodeCase(row.text(), Self.table, "start_mode")
        devices = try ActivityCoding.devices(row.text())
        restart = try decodeCase(row.text(), Self.table, "restart")
        alert = try row.textOrNil().map(ActivityCoding.alert)
        fallback = try row.textOrNil().map(ActivityCoding.fallback)
        alertIDs = try row.textOrNil().map(ActivityCoding.alertIDs) ?? []
        dismissal = try ActivityCoding.dismissal(row.text())
        changedAt = row.time()
        acceptedAt = row.time()
        holdUntil = row.time()
        lap = row.int()
        begunLap = row.int()
        wakeAt = row.timeOrNil()
        refreshAt = row.timeOrNil()
        refreshedSince = row.timeOrNil()
        endedAt = row.timeOrNil()
        clientSequence = row.intOrNil()
        hasChannels = row.bool()
    }

    func bind(_ row: inout RowBinder) {
        row.int(number)
        row.text(app.text)
        row.text(id.text)
        row.text(type)
        row.text(phase.rawValue)
        row.int(Int64(run))
        row.time(runStartedAt)
        row.int(revision)
        row.text(priority.rawValue)
        row.double(relevance)
        row.time(staleAt)
        row.int(staleAfter?.wholeMilliseconds)
        row.text(start.rawValue)
        row.text(ActivityCoding.text(devices))
        row.text(restart.rawValue)
        row.text(alert.map(ActivityCoding.text))
        row.text(fallback.map(ActivityCoding.text))
        row.text(ActivityCoding.text(alertIDs))
        row.text(ActivityCoding.text(dismissal))
        row.time(changedAt)
        row.time(acceptedAt)
        row.time(holdUntil)
        row.int(lap)
        row.int(begunLap)
        row.time(wakeAt)
        row.time(refreshAt)
        row.time(refreshedSince)
        row.time(endedAt)
        row.int(clientSequence)
        row.bool(hasChannels)
    }
}

extension ContentRecord: StoredRow {
    static let table = "content"
    static let columns = ["activity", "rev", "state", "digest", "attributes", "attributes_digest", "unfit"]
    static let keyColumns = ["activity"]

    init(_ row: inout RowReader) throws {
        self.init(
            activity: row.int(), revision: row.int(), state: try Self.object(row.blob(), "state"),
            digest: UInt64(bitPattern: row.int()), attributes: try Self.object(row.blob(), "attributes"),
            attributesDigest: UInt64(bitPattern: row.int()))
        unfit = UnfitBuilds(stored: row.textOrNil())
    }

    func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(revision)
        row.blob(state.bytes)
        row.int(Int64(bitPattern: digest))
        row.blob(attributes.bytes)
        row.int(Int64(bitPattern: attributesDigest))
        row.text(unfit.stored)
    }

    private static func object(_ bytes: [UInt8], _ column: String) throws -> EncodedObject {
        guard let object = EncodedObject(stored: bytes) else { throw DamagedRow(table: table, column: column) }
        return object
    }
}

/// Encodes the small structured columns of an activity, mostly as JSON.
enum ActivityCoding {
    static func text(_ devices: ActivityRecord.DeviceSelection) -> String {
        switch devices {
        case .lastActive: "lastActive"
        case .all: "all"
        case .only(let ids): JSONValue.array(ids.sorted().map { .string($0.text) }).text
        case .one(let id): JSONValue.string(id.text).text
        }
    }

    static func devices(_ text: String) throws -> ActivityRecord.DeviceSelection {
        switch text {
        case "lastActive": return .lastActive
        case "all": return .all
        default:
            let value = try? JSONValue(parsing: text)
            if let id = value?.string { return .one(DeviceID(stored: id)) }
            guard let values = value?.array else { throw DamagedRow(table: "activity", column: "devices") }
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
        case .after(let duration): "+\(duration.wholeMilliseconds)"
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
        if alert.onChannels != .broadcast { object["channels"] = .string(alert.onChannels.rawValue) }
        return JSONValue.object(object).text
    }

    static func alert(_ text: String) throws -> AlertRecord {
        let damaged = DamagedRow(table: "activity", column: "alert")
        guard let object = (try? JSONValue(parsing: text))?.object, let id = object["id"]?.string,
            let revision = object["rev"]?.int, let title = object["title"].flatMap(alertText),
            let until = object["until"]?.int, let keep = object["keep"]?.bool,
            let onUnknown = object["onUnknown"]?.string.flatMap(AlertRecord.OnUnknown.init(rawValue:)),
            let onChannels = ChannelAlerts(rawValue: object["channels"]?.string ?? ChannelAlerts.broadcast.rawValue)
        else { throw damaged }
        return AlertRecord(
            id: id, revision: Int64(revision),
            alert: PushAlert(title: title, body: object["body"].flatMap(alertText), sound: object["sound"]?.string),
            expiresAt: UnixTime(milliseconds: Int64(until)), keep: keep, onUnknown: onUnknown,
            onChannels: onChannels)
    }

    static func text(_ alert: PushAlert) -> String {
        var object: JSONObject = ["title": value(alert.title)]
        object["body"] = alert.body.map(value)
        object["sound"] = alert.sound.map(JSONValue.string)
        return JSONValue.object(object).text
    }

    static func fallback(_ text: String) throws -> PushAlert {
        guard let object = (try? JSONValue(parsing: text))?.object, let title = object["title"].flatMap(alertText)
        else { throw DamagedRow(table: "activity", column: "fallback") }
        return PushAlert(title: title, body: object["body"].flatMap(alertText), sound: object["sound"]?.string)
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
