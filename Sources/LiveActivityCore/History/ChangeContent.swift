package import APNSModel
package import JSONText

/// What a change set, as its timeline keeps it: the state as it is sent and, where there is one, the alert it brought;
/// and of what the call wished, that which is not as ever.
package struct ChangeContent: Sendable, Equatable {
    package var state: JSONObject
    package var alert: PushAlert?
    package var priority = ActivityRecord.PriorityWish.auto
    package var relevance: Double?
    package var staleAt: UnixTime?
    package var staleAfter: Duration?

    /// What a timeline's entry holds of a change.
    ///
    /// - Parameter activity: With the wishes of the call.
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

    /// What a change set; `nil` for an entry that holds none, as those of earlier versions do.
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
