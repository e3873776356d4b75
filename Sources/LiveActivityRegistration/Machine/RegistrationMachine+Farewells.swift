internal import JSONText
internal import LiveActivityAPI

// Cards that have ended and that iOS still shows.
extension RegistrationMachine {
    /// Ends a card of the signed-in person and remembers how, because the person still sees its last state.
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

    /// Remembers the ended cards that iOS shows of the signed-in person, and removes those of other people.
    mutating func attend(_ seen: SeenCard) {
        let farewell = memory.farewell(of: seen.localID)
        switch seen.state {
        case .ended:
            guard let user = memory.user, user == farewell?.user ?? user else { return sweep(seen.localID) }
            // A card that is to leave at once has already ended before it leaves.
            guard farewell == nil, !swept.contains(seen.localID) else { return }
            change { $0.remember(Farewell(localID: seen.localID, user: user)) }
        case .dismissed: change { $0.forgetFarewell(of: seen.localID) }
        case .pending, .active, .stale, .requesting, .notStarted, .gone, .duplicate: break
        }
    }

    /// Ends a card again that is over and that iOS lists as running.
    ///
    /// Usually iOS's list was read before the card's end and handled after it. The card must then stay as long as it
    /// was to stay, so the same end is requested again. This also covers an end that never reached the card.
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

    /// Removes an ended card from the lock screen at once, however long it was to stay.
    mutating func sweep(_ localID: String) {
        guard !swept.contains(localID) else { return }
        ending.remove(localID)
        end(localID, content: nil, .immediate, timestamp: nil)
    }

    /// Returns `immediate` for a date in the past, as in a push, and the rule itself otherwise.
    func unlessPast(_ dismissal: CardDismissal, _ now: PhoneMoment) -> CardDismissal {
        guard case .at(let instant) = dismissal, let seconds = serverSeconds(now) else { return dismissal }
        return instant.milliseconds <= seconds * 1_000 ? .immediate : dismissal
    }
}
