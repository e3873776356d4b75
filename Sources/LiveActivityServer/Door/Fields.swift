import APNSModel
import LiveActivityAPI
import LiveActivityCore

/// Checks of single fields, each refused with its pointer.
enum Fields {
    static func id<Kind>(_ text: String, at pointer: String) throws(Problem) -> ForeignID<Kind> {
        do throws(ForeignIDError) {
            return try ForeignID<Kind>(text)
        } catch {
            throw .invalid(pointer, "\(error)", expected: "1 to 256 bytes without control characters")
        }
    }

    /// A text of 1 to `maximum` bytes without control characters.
    static func text(_ text: String?, at pointer: String, maximum: Int) throws(Problem) -> String? {
        guard let text else { return nil }
        let isPlain = !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
        guard 1...maximum ~= text.utf8.count, isPlain else {
            throw .invalid(pointer, "not allowed", expected: "1 to \(maximum) bytes without control characters")
        }
        return text
    }

    static func token<Kind>(_ token: TokenText?, at pointer: String) throws(Problem) -> PushToken<Kind>? {
        guard let token else { return nil }
        do throws(PushTokenError) {
            return try PushToken<Kind>(hex: token.text)
        } catch {
            throw .invalid(pointer, "\(error)")
        }
    }

    /// A length of at least a second.
    static func duration(_ duration: APIDuration?, at pointer: String) throws(Problem) -> Duration? {
        guard let duration else { return nil }
        guard duration.milliseconds >= 1000 else {
            throw .invalid(pointer, "too short", expected: "1s to 30d")
        }
        return duration.duration
    }

    static func relevance(_ relevance: Double?) throws(Problem) -> Double? {
        if let relevance, !relevance.isFinite {
            throw .invalid("/relevance", "not a finite number", expected: "a finite number")
        }
        return relevance
    }

    static func staleDate(_ instant: LiveActivityAPI.Instant?, now: UnixTime) throws(Problem) -> UnixTime? {
        guard let instant else { return nil }
        let date = UnixTime(instant)
        guard date > now else {
            throw .invalid(
                "/staleAt", "in the past: iOS would never present the card", expected: "a time after \(now)",
                given: instant.description, fix: "leave it out, or give a later time")
        }
        return date
    }

    static func alert(_ alert: Alert?, at pointer: String) throws(Problem) -> SetDesiredState.AlertWish? {
        guard let alert else { return nil }
        var wish = SetDesiredState.AlertWish(
            PushAlert(
                title: try words(alert.title, at: pointer + "/title", mayBeEmpty: false),
                body: try alert.body.map { (body) throws(Problem) in
                    try words(body, at: pointer + "/body", mayBeEmpty: true)
                },
                sound: try text(alert.sound, at: pointer + "/sound", maximum: 256)))
        wish.id = try text(alert.id, at: pointer + "/id", maximum: 256)
        if let lifetime = try duration(alert.expiresAfter, at: pointer + "/expiresAfter") {
            wish.expiresAfter = lifetime
        }
        wish.keep = alert.keep ?? false
        wish.onUnknown =
            switch alert.onUnknown {
            case .repeat: .repeat
            case .drop, nil: .drop
            }
        return wish
    }

    private static func words(
        _ words: AlertText, at pointer: String, mayBeEmpty: Bool
    ) throws(Problem) -> PushAlert.Text {
        try check(words, at: pointer, mayBeEmpty: mayBeEmpty)
        return words.words
    }

    static func check(_ words: AlertText, at pointer: String, mayBeEmpty: Bool) throws(Problem) {
        switch words {
        case .text(let text):
            guard mayBeEmpty || !text.isEmpty else {
                throw .invalid(
                    pointer, "an alert needs a title: without one the phone shows nothing", expected: "a text")
            }
        case .localized(let key, _):
            guard !key.isEmpty else {
                throw .invalid(pointer + "/locKey", "empty", expected: "a key of the app's strings")
            }
        }
    }

    static func devices(
        _ selection: DeviceSelection?, at pointer: String
    ) throws(Problem) -> ActivityRecord.DeviceSelection? {
        switch selection {
        case nil: return nil
        case .lastActive: return .lastActive
        case .all: return .all
        case .ids(let texts):
            guard 1...SetDesiredState.maximumUsers ~= texts.count else {
                throw .invalid(
                    pointer, "an empty or too long list", expected: "1 to \(SetDesiredState.maximumUsers) device ids")
            }
            var devices: Set<DeviceID> = []
            for (index, text) in texts.enumerated() { devices.insert(try id(text, at: "\(pointer)/\(index)")) }
            return .only(devices)
        }
    }
}

extension UnixTime {
    init(_ instant: LiveActivityAPI.Instant) {
        self.init(milliseconds: Int64(instant.milliseconds))
    }
}
