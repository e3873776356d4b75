import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore

extension ActivityRequest {
    /// Returns the command, after all checks that do not need the store.
    func command(of activity: ActivityID, in call: Call) throws(Problem) -> SetDesiredState {
        let type = try call.type(type, pointer: "/type")
        var body = SetDesiredState.Body(state: state)
        body.attributes = attributes
        try take(audience, into: &body)
        body.alert = try Fields.alert(alert, at: "/alert")
        body.priority = priority?.wish ?? .auto
        body.relevance = try Fields.relevance(relevance)
        body.staleAt = try Fields.staleDate(staleAt, now: call.now)
        body.staleAfter = try Fields.staleAfter(staleAfter)
        body.start = start.map { start in
            switch start {
            case .ifPossible: .ifPossible
            case .appOnly: .appOnly
            case .never: .never
            }
        }
        body.restart = restart.map { restart in
            switch restart {
            case .never: .never
            case .onAlert: .onAlert
            case .always: .always
            }
        }
        body.fallback = try fallback?.template()
        body.reopen = reopen ?? false
        return SetDesiredState(app: call.app.bundleID, id: activity, type: type, body: body, now: call.now)
    }

    private func take(_ audience: Audience?, into body: inout SetDesiredState.Body) throws(Problem) {
        guard let audience else { return }
        guard audience.users.count <= SetDesiredState.maximumUsers else {
            throw Problem(Refusal.audienceTooLarge(limit: SetDesiredState.maximumUsers))
        }
        var users: [UserID] = []
        for (index, user) in audience.users.enumerated() {
            users.append(try Fields.id(user, at: "/audience/users/\(index)"))
        }
        body.users = users
        switch audience.devices {
        case nil: break
        case .lastActive: body.devices = .lastActive
        case .all: body.devices = .all
        case .ids(let texts):
            guard 1...SetDesiredState.maximumUsers ~= texts.count else {
                throw .invalid(
                    "/audience/devices", "an empty or too long list",
                    expected: "1 to \(SetDesiredState.maximumUsers) device ids",
                    fix: "`start: never` starts it on no device")
            }
            var devices: Set<DeviceID> = []
            for (index, text) in texts.enumerated() {
                devices.insert(try Fields.id(text, at: "/audience/devices/\(index)"))
            }
            body.devices = .only(devices)
        }
    }
}

extension PatchRequest {
    func command(of activity: ActivityID, in call: Call) throws(Problem) -> PatchActivity {
        var body = PatchActivity.Body()
        body.state = state ?? [:]
        body.alert = try Fields.alert(alert, at: "/alert")
        body.priority = priority?.wish
        body.relevance = try Fields.relevance(relevance)
        body.staleAt = try Fields.staleDate(staleAt, now: call.now)
        body.staleAfter = try Fields.staleAfter(staleAfter)
        return PatchActivity(app: call.app, id: activity, body: body, now: call.now)
    }
}

extension ActivityRequest.Priority {
    fileprivate var wish: ActivityRecord.PriorityWish {
        switch self {
        case .auto: .auto
        case .low: .low
        case .high: .high
        }
    }
}

extension EndRequest {
    /// Returns the command. Without a `dismiss` field iOS decides about the dismissal.
    func command(of activity: ActivityID, in call: Call) throws(Problem) -> EndActivity {
        let dismissal = try Fields.dismissal(self, now: call.now)
        return EndActivity(
            app: call.app, id: activity, state: state, alert: try Fields.alert(alert, at: "/alert"),
            dismissal: dismissal, now: call.now)
    }
}
