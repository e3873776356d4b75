package import APNSModel
package import JSONText

/// Content of a change, as the timeline stores it: the state as it is sent, and the alert if there is one. Of the
/// call's other options, it stores those that differ from the default.
package struct ChangeContent: Sendable, Equatable {
    package var state: JSONObject
    package var alert: PushAlert?
    package var priority = ActivityRecord.PriorityWish.auto
    package var relevance: Double?
    package var staleAt: UnixTime?
    package var staleAfter: Duration?

    /// Returns the detail text of a timeline entry for a change.
    ///
    /// - Parameter activity: The activity with the options of the call.
    static func text(state: EncodedObject, alert: PushAlert?, _ activity: ActivityRecord? = nil) -> String {
        var text = #"{"state":"# + String(decoding: state.bytes, as: UTF8.self)
        if let alert { text += #","alert":"# + JSONValue.object(object(of: alert)).text }
        if let activity { text += wishes(of: activity) }
        return text + "}"
    }

    private static func wishes(of activity: ActivityRecord) -> String {
        var text = ""
        if activity.priority != .auto { text += #","priority":"\#(activity.priority.rawValue)""# }
        if let relevance = activity.relevance { text += #","relevance":\#(relevance)"# }
        if let staleAt = activity.staleAt { text += #","staleAt":\#(staleAt.milliseconds)"# }
        if let staleAfter = activity.staleAfter { text += #","staleAfter":\#(staleAfter.wholeMilliseconds)"# }
        return text
    }

    /// Reads the content of a change. Returns `nil` if the entry has none, as in entries of earlier versions.
    package init?(_ entry: HistoryEntry) {
        guard entry.detail.hasPrefix("{"), let value = try? JSONValue(parsing: entry.detail).object,
            let state = value["state"]?.object
        else { return nil }
        self.state = state
        alert = value["alert"]?.object.flatMap(Self.alert)
        priority = value["priority"]?.string.flatMap(ActivityRecord.PriorityWish.init) ?? .auto
        relevance = value["relevance"]?.double
        staleAt = value["staleAt"]?.int.map { UnixTime(milliseconds: Int64($0)) }
        staleAfter = value["staleAfter"]?.int.map { .milliseconds($0) }
    }

    package init(state: JSONObject) { self.state = state }

    // MARK: - Alerts

    private static func object(of alert: PushAlert) -> JSONObject {
        var object: JSONObject = ["title": value(of: alert.title)]
        object["body"] = alert.body.map(value)
        object["sound"] = alert.sound.map(JSONValue.string)
        return object
    }

    private static func value(of text: PushAlert.Text) -> JSONValue {
        switch text {
        case .text(let text): .string(text)
        case .localized(let key, let arguments):
            ["locKey": .string(key), "locArgs": .array(arguments.map(JSONValue.string))]
        }
    }

    private static func alert(_ object: JSONObject) -> PushAlert? {
        guard let title = object["title"].flatMap(text) else { return nil }
        return PushAlert(title: title, body: object["body"].flatMap(text), sound: object["sound"]?.string)
    }

    private static func text(_ value: JSONValue) -> PushAlert.Text? {
        if let text = value.string { return .text(text) }
        guard let object = value.object, let key = object["locKey"]?.string else { return nil }
        return .localized(key: key, arguments: object["locArgs"]?.array?.compactMap(\.string) ?? [])
    }
}
