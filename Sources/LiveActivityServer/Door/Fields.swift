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
        switch words {
        case .text(let text):
            guard mayBeEmpty || !text.isEmpty else {
                throw .invalid(
                    pointer, "an alert needs a title: without one the phone shows nothing", expected: "a text")
            }
            return .text(text)
        case .localized(let key, let arguments):
            guard !key.isEmpty else {
                throw .invalid(pointer + "/locKey", "empty", expected: "a key of the app's strings")
            }
            return .localized(key: key, arguments: arguments)
        }
    }
}

extension UnixTime {
    init(_ instant: LiveActivityAPI.Instant) {
        self.init(milliseconds: Int64(instant.milliseconds))
    }
}
