internal import JSONText
internal import LiveActivityAPI

// Cards that are over and that iOS still shows.
extension RegistrationMachine {
    /// Ends a card of the person who is signed in, whom its last state concerns.
    mutating func bidFarewell(
        _ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?
    ) {
        if let user = memory.user, dismissal != .immediate {
            change {
                $0.remember(
                    Farewell(
                        localID: localID, user: user, dismissal: dismissal, content: content, timestamp: timestamp))
            }
        }
        end(localID, content: content, dismissal, timestamp: timestamp)
    }

    /// Keeps in mind what iOS shows of the person who is signed in, and takes away what it shows of others.
    mutating func attend(_ seen: SeenCard) {
        let farewell = memory.farewell(of: seen.localID)
        switch seen.state {
        case .ended:
            guard let user = memory.user, user == farewell?.user ?? user else { return sweep(seen.localID) }
            // A card that is to leave at once is over before it has left.
            guard farewell == nil, !swept.contains(seen.localID) else { return }
            change { $0.remember(Farewell(localID: seen.localID, user: user)) }
        case .dismissed: change { $0.forgetFarewell(of: seen.localID) }
        case .pending, .active, .stale, .requesting, .notStarted, .gone, .duplicate: break
        }
    }

    /// A card that is over is said to run. Mostly that was read before its end and is heard after it: then the card has
    /// to stay as long as it was to. The end is the same once more, for the case that it never came to the card.
    mutating func endAgain(_ seen: SeenCard, _ now: PhoneMoment) {
        guard let farewell = memory.farewell(of: seen.localID), farewell.user == memory.user else {
            return end(seen.localID, content: nil, .immediate, timestamp: nil)
        }
        let dismissal =
            farewell.dismissal ?? seen.activity.flatMap { endedActivities[Self.canonical($0)] }
            ?? CardDismissal.systemDefault
        end(
            seen.localID, content: farewell.content, unlessPast(dismissal, now), timestamp: farewell.timestamp)
    }

    /// A card that is over leaves the lock screen at once, however long it was to stay.
    mutating func sweep(_ localID: String) {
        guard !swept.contains(localID) else { return }
        ending.remove(localID)
        end(localID, content: nil, .immediate, timestamp: nil)
    }

    /// A date in the past is at once, as it is in a push.
    func unlessPast(_ dismissal: CardDismissal, _ now: PhoneMoment) -> CardDismissal {
        guard case .at(let instant) = dismissal, let seconds = serverSeconds(now) else { return dismissal }
        return instant.milliseconds <= seconds * 1_000 ? .immediate : dismissal
    }
}
