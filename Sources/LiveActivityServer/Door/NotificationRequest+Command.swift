import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore

extension NotificationRequest {
    /// Returns the command, after all checks that do not need the store.
    func command(to user: UserID, in call: Call) throws(Problem) -> NotifyUser {
        guard alert != nil || background == true else {
            throw .invalid("/alert", "missing", expected: "`alert`, or `background`: true")
        }
        let payload: [UInt8]
        do throws(PayloadError) {
            if let alert {
                payload = try alert.payload(data: data ?? [:])
            } else {
                payload = try BackgroundPayload(data: data ?? [:]).bytes
            }
        } catch {
            throw Problem(Refusal.payloadTooLarge(error))
        }
        try alert?.check()
        var body = NotifyUser.Body(alert == nil ? .background : .alert, payload: payload)
        if let collapse {
            guard let id = CollapseID(collapse) else {
                throw .invalid("/collapse", "not allowed", expected: "1 to 64 visible ASCII characters")
            }
            body.collapseID = id
        }
        if let lifetime = try Fields.duration(expiresAfter, at: "/expiresAfter") { body.expiresAfter = lifetime }
        body.devices = try Fields.devices(devices, at: "/devices") ?? .all
        return NotifyUser(
            app: call.app.bundleID, user: user, body: body, now: call.now, random: call.services.dice())
    }

    /// Returns the key that identifies a repetition: the header's, or one made from the body's `id`.
    func key(to user: UserID, in call: Call) throws(Problem) -> IdempotencyKey {
        if let key = call.conditions.key { return key }
        guard let id = try Fields.text(id, at: "/id", maximum: 256) else {
            throw .invalid(
                "/id", "missing: without an id, a repeated call would send a second notification",
                expected: "an id of this notification, or the header `Idempotency-Key`")
        }
        return IdempotencyKey(notification: id, to: user)
    }
}

extension NotificationAlert {
    fileprivate func payload(data: JSONObject) throws(PayloadError) -> [UInt8] {
        try AlertPayload(
            PushAlert(title: title.words, body: body?.words, sound: sound), subtitle: subtitle?.words,
            threadID: threadId, data: data
        ).bytes
    }

    fileprivate func check() throws(Problem) {
        try Fields.check(title, at: "/alert/title", mayBeEmpty: false)
        if let body { try Fields.check(body, at: "/alert/body", mayBeEmpty: true) }
        if let subtitle { try Fields.check(subtitle, at: "/alert/subtitle", mayBeEmpty: true) }
        _ = try Fields.sound(sound, at: "/alert/sound")
        _ = try Fields.text(threadId, at: "/alert/threadId", maximum: 256)
    }
}

extension FallbackRequest {
    /// Returns the checked template. The activity stores its texts.
    func template() throws(Problem) -> PushAlert {
        try Fields.check(alert.title, at: "/fallback/alert/title", mayBeEmpty: false)
        if let body = alert.body { try Fields.check(body, at: "/fallback/alert/body", mayBeEmpty: true) }
        let given = PushAlert(
            title: alert.title.words, body: alert.body?.words,
            sound: try Fields.sound(alert.sound, at: "/fallback/alert/sound"))
        do throws(AlertTemplateError) {
            _ = try AlertTemplate(parsing: given)
        } catch {
            throw .invalid("/fallback/alert", "\(error)", expected: "words, with places such as {/sender|Somebody}")
        }
        return given
    }
}

extension AlertText {
    var words: PushAlert.Text {
        switch self {
        case .text(let text): .text(text)
        case .localized(let key, let arguments): .localized(key: key, arguments: arguments)
        }
    }
}
