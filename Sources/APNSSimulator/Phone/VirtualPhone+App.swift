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

    /// Gives a card an update token. A card on a channel has none, whatever the person allows.
    mutating func issueUpdateToken(_ index: Int) {
        guard cards[index].channel == nil, let token = try? UpdateToken(hex: dice.hex(160)) else { return }
        cards[index].token = token
        effects.append(.issued(hex: token.hex, .update(localID: cards[index].localID)))
    }

    mutating func retire<Kind>(_ token: PushToken<Kind>?, _ end: TokenEnd, at local: UnixTime) {
        guard let token else { return }
        effects.append(.retired(hex: token.hex, end, at: trueTime(local)))
    }

    // MARK: The app

    /// `true` if the app notices a change of a card at once.
    var noticesNow: Bool {
        profile.appState == .foreground || (profile.appState == .background && profile.noticesInBackground)
    }

    mutating func noticeChange(of index: Int) {
        cards[index].isUnnoticed = true
        if noticesNow { tellNews(at: present) }
    }

    /// Gives the app's process time to run, and launches it if necessary. An app that the person force-quit is not
    /// launched.
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

    /// Reports everything, at a launch and when the app comes back: who the phone is, its push-to-start token, ended
    /// cards, and every card it has.
    mutating func reportEverything(at local: UnixTime) {
        guard client != nil else { return launchClient(at: local) }
        identify(at: local)
        tellClient(at: local) { $0.wake($1) }
        lookAgain(at: local)
    }

    /// Ends the process after its first launch, if the app is killed from then on and has reported everything.
    mutating func restIfKilled() {
        if !profile.appState.runs, client?.isSettled == true || !hasBackend { killClient() }
    }
}
