internal import APNSModel
internal import LiveActivityRegistration

extension VirtualPhone {
    // MARK: Tokens

    mutating func issueDeviceToken() {
        guard let token = try? DeviceToken(hex: dice.hex(64)) else { return }
        deviceToken = token
        effects.append(.issued(hex: token.hex, .device))
    }

    mutating func issuePushToStartToken() {
        guard profile.activitiesEnabled, profile.iOS >= .pushToStart else { return }
        guard let token = try? PushToStartToken(hex: dice.hex(128)) else { return }
        pushToStartToken = token
        effects.append(.issued(hex: token.hex, .pushToStart))
    }

    mutating func issueUpdateToken(_ index: Int) {
        guard let token = try? UpdateToken(hex: dice.hex(160)) else { return }
        cards[index].token = token
        effects.append(.issued(hex: token.hex, .update(localID: cards[index].localID)))
    }

    mutating func retire<Kind>(_ token: PushToken<Kind>?, _ end: TokenEnd, at local: UnixTime) {
        guard let token else { return }
        effects.append(.retired(hex: token.hex, end, at: trueTime(local)))
    }

    // MARK: The app

    /// Whether the app notices a change of a card at once.
    var noticesNow: Bool {
        profile.appState == .foreground || (profile.appState == .background && profile.noticesInBackground)
    }

    mutating func noticeChange(of index: Int) {
        cards[index].isUnreported = true
        if noticesNow { reportUnreported() }
    }

    /// Gives the app's process time to run, launching it if need be; an app that the person swiped away stays away.
    mutating func wake(at local: UnixTime, for push: PushID? = nil) -> Bool {
        guard isInstalled else { return false }
        switch profile.appState {
        case .foreground, .background: return true
        case .killed:
            profile.appState = .background
            reportEverything(at: local)
            return true
        case .forceQuit:
            note(.notAwakened, "the person force-quit the app: no push launches it", at: local, push: push)
            return false
        }
    }

    /// What a launch says: who the phone is, its push-to-start token, what went away, and every card it holds.
    mutating func reportEverything(at local: UnixTime) {
        guard !profile.runsClient else {
            guard client != nil else { return launchClient(at: local) }
            identify(at: local)
            tellClient(at: local) { $0.wake($1) }
            return lookAgain(at: local)
        }
        reportDevice()
        reportPushToStartToken()
        for index in cards.indices { cards[index].isUnreported = false }
        reportUnreported()
        inventorySequence += 1
        send(.inventory(sequence: inventorySequence, instances: cards.map { $0.report }))
    }

    mutating func reportDevice() {
        guard !profile.runsClient else { return tellFacts(at: present) }
        guard let deviceToken else { return }
        send(
            .register(
                DeviceReport(
                    user: profile.user, platform: "ios", timeZone: profile.timeZone, locale: profile.locale,
                    osVersion: profile.iOS.description, appVersion: profile.appVersion, build: profile.build,
                    model: profile.model, environment: profile.environment,
                    activitiesEnabled: profile.activitiesEnabled,
                    frequentPushesEnabled: profile.frequentPushesEnabled,
                    notificationAuthorization: profile.notificationAuthorization, deviceToken: deviceToken)))
    }

    mutating func reportPushToStartToken() {
        guard !profile.runsClient else { return tellStartToken(at: present) }
        guard let pushToStartToken else { return }
        for type in profile.activityTypes { send(.pushToStartToken(type: type.name, token: pushToStartToken)) }
    }

    mutating func reportUnreported() {
        guard !profile.runsClient else { return tellNews(at: present) }
        for index in dismissed.indices where dismissed[index].isUnreported {
            dismissed[index].isUnreported = false
            send(.instance(dismissed[index].report))
        }
        for index in cards.indices where cards[index].isUnreported {
            cards[index].isUnreported = false
            send(.instance(cards[index].report))
        }
    }

    /// An app nobody is signed in to has nobody to speak for.
    mutating func send(_ report: PhoneReport) {
        guard !profile.user.isEmpty || report == .signOut else { return }
        effects.append(.report(report))
    }
}

extension Card {
    /// The card as the app would describe it.
    var report: InstanceReport { report(as: reportedState) }

    func report(as state: InstanceReport.State) -> InstanceReport {
        InstanceReport(
            localID: localID, type: attributesType, activity: activity, attributes: attributes, state: state,
            token: state == .requesting ? nil : token, startedAt: startedAt, lastTimestamp: timestamp,
            contentState: contentState, basedOn: basedOn)
    }

    private var reportedState: InstanceReport.State {
        switch state {
        case .active: .active
        case .stale: .stale
        case .ended: .ended
        case .dismissed:
            if !wasWitnessed || ending == .settings { .gone } else { ending == .person ? .dismissed : .ended }
        }
    }
}
