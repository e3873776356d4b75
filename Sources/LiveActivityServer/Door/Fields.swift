import APNSModel
import LiveActivityAPI
import LiveActivityCore

/// Checks of single fields. Each refusal has the field's pointer.
enum Fields {
    static func id<Kind>(_ text: String, at pointer: String) throws(Problem) -> ForeignID<Kind> {
        do throws(ForeignIDError) {
            return try ForeignID<Kind>(text)
        } catch {
            throw .invalid(pointer, "\(error)", expected: "1 to 256 bytes without control characters")
        }
    }

    /// Checks a text: 1 to `maximum` bytes without control characters.
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

    /// Checks a duration: at least one second.
    static func duration(_ duration: APIDuration?, at pointer: String) throws(Problem) -> Duration? {
        guard let duration else { return nil }
        guard duration.milliseconds >= 1000 else {
            throw .invalid(pointer, "too short", expected: "1s to 30d")
        }
        return duration.duration
    }

    /// Time from a call to the phone. A stale date that is nearer has passed when the phone reads it.
    static let deliveryTime = Duration.seconds(10)
    /// Maximum time for which iOS keeps an ended card on the lock screen (Apple, "Starting and updating Live Activities
    /// with ActivityKit push notifications").
    static let longestDismissal = Duration.seconds(4 * 3600)

    /// Checks the time for which a state is fresh. It must be longer than the way to the phone takes.
    static func staleAfter(_ duration: APIDuration?) throws(Problem) -> Duration? {
        guard let duration else { return nil }
        guard duration.duration >= deliveryTime else {
            throw .ignored(
                "/staleAfter", "the state would be stale before it is shown", expected: "10s to 30d",
                fix: "give a longer time, or leave it out")
        }
        return duration.duration
    }

    /// Checks when an ended card leaves the lock screen.
    static func dismissal(_ request: EndRequest, now: UnixTime) throws(Problem) -> DismissalWish {
        if request.dismissNow == true { return .immediate }
        if let instant = request.dismissAt {
            let date = UnixTime(instant)
            guard date > now else {
                throw .ignored(
                    "/dismissAt", "in the past: iOS would dismiss the card at once", expected: "a time after \(now)",
                    given: instant.description, fix: "for at once say `dismissNow: true`")
            }
            guard date <= now + longestDismissal else {
                throw .ignored(
                    "/dismissAt", "iOS takes an ended card away after four hours at most",
                    expected: "at most 4h after the end", given: instant.description,
                    fix: "give an earlier time, or leave it out: iOS then keeps it for up to four hours")
            }
            return .at(date)
        }
        guard let duration = request.dismissAfter?.duration else { return .systemDefault }
        guard duration > .zero else {
            throw .ignored(
                "/dismissAfter", "zero: iOS would dismiss the card at once", expected: "more than 0s, at most 4h",
                fix: "for at once say `dismissNow: true`")
        }
        guard duration <= longestDismissal else {
            throw .ignored(
                "/dismissAfter", "iOS takes an ended card away after four hours at most",
                expected: "more than 0s, at most 4h",
                fix: "give a shorter time, or leave it out: iOS then keeps it for up to four hours")
        }
        return .after(duration)
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
        guard date >= now + deliveryTime else {
            throw .ignored(
                "/staleAt", "this time has passed when the push reaches the phone, so the card would be stale at once",
                expected: "a time from \(now + deliveryTime) on", given: instant.description,
                fix: "leave it out, or give a later time")
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
                sound: try sound(alert.sound, at: pointer + "/sound")))
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

    /// Checks the name of a sound file in the app's bundle. For any other name iOS plays its default sound.
    static func sound(_ name: String?, at pointer: String) throws(Problem) -> String? {
        guard let name = try text(name, at: pointer, maximum: 256) else { return nil }
        guard !isBlank(name), !name.contains("/") else {
            throw .ignored(
                pointer, "not the name of a file: iOS looks for it in the app's bundle alone",
                expected: "a file's name such as `ding.caf`, or `default`", fix: "give the name without its folder")
        }
        return name
    }

    private static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

    private static func words(
        _ words: AlertText, at pointer: String, mayBeEmpty: Bool
    ) throws(Problem) -> PushAlert.Text {
        try check(words, at: pointer, mayBeEmpty: mayBeEmpty)
        return words.words
    }

    static func check(_ words: AlertText, at pointer: String, mayBeEmpty: Bool) throws(Problem) {
        switch words {
        case .text(let text):
            guard mayBeEmpty || !isBlank(text) else {
                throw .ignored(
                    pointer, "an alert needs a title: without one the phone shows nothing", expected: "a text",
                    fix: "give a title that is not blank, or leave the alert out")
            }
        case .localized(let key, _):
            guard !isBlank(key) else {
                throw .ignored(
                    pointer + "/locKey", "blank: the app's strings have no such key",
                    expected: "a key of the app's strings", fix: "give a key, or a text")
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
