package import APNSModel

/// Which of a device's rows a call looks at: so many and no more, whatever the phone or its person has left.
///
/// Those of the newest activities, whatever their state. Of a device that has more: those that may have a card, those
/// of the cards and activities that the call names, and those whose activity runs.
package struct DeviceRows: Sendable, Equatable {
    package static let newest = 100
    package static let open = 100
    package static let running = 100
    /// Of the device's activities the newest so many are looked through for those that run.
    package static let examined = 2_000

    /// What the call names. A card that is over is found by its tombstone, too.
    package var cards: [LocalID] = []
    package var activities: [ActivityID] = []
    package var withRunning = true

    package init(cards: [LocalID] = [], activities: [ActivityID] = [], withRunning: Bool = true) {
        self.cards = cards
        self.activities = activities
        self.withRunning = withRunning
    }
}

/// Which of a person's activities a device that signs in is taken into: the newest of those that it may still show.
///
/// Where one device alone is to show the card, what the person's other devices show there decides: so many rows of
/// theirs are looked at. What there is no room for is left to the device's next call, which needs none of them for what
/// the device is in by then.
package struct JoinableActivities: Sendable, Equatable {
    package static let limit = 100
    /// Of the person's activities the newest so many are looked through.
    package static let examined = 2_000
    /// Rows of other devices that are looked at: of a person with ten of them, those of all the activities.
    package static let rowsOfOthers = 1_000

    /// The device that signs in.
    package var device: DeviceID
    /// Of those that have ended only those that did so after this instant.
    package var endedSince: UnixTime
    /// Of these types all that have ended: they may begin anew.
    package var reusableTypes: [String]

    package init(device: DeviceID, endedSince: UnixTime, reusableTypes: [String]) {
        self.device = device
        self.endedSince = endedSince
        self.reusableTypes = reusableTypes
    }

    /// One that was found.
    package struct Candidate: Sendable {
        let number: ActivityNumber
        let looksAtOthers: Bool

        /// - Parameter looksAtOthers: What `Audience.looksAtOthers` says.
        package init(_ number: ActivityNumber, looksAtOthers: Bool) {
            self.number = number
            self.looksAtOthers = looksAtOthers
        }
    }

    package struct Pick: Sendable {
        /// The device is taken into these.
        package fileprivate(set) var taken: [ActivityNumber] = []
        /// Of these among them the other devices' rows are needed.
        package fileprivate(set) var withOthers: [ActivityNumber] = []
    }

    /// - Parameters:
    ///   - candidates: The newest first.
    ///   - others: How many devices' rows are looked at where they are: `RecentDevices`.
    package static func pick(_ candidates: [Candidate], others: Int) -> Pick {
        var pick = Pick()
        var room = rowsOfOthers
        for candidate in candidates.prefix(limit) {
            if candidate.looksAtOthers, others > 0 {
                guard others <= room else { continue }
                room -= others
                pick.withOthers.append(candidate.number)
            }
            pick.taken.append(candidate.number)
        }
        return pick
    }
}

/// Which of a person's devices one that signs in looks at: those that were heard of last, signed out or not.
package enum RecentDevices {
    /// No fewer than a person may have: they are counted among these.
    package static let limit = RegisterDevice.maximumDevices
    /// Of the person's devices so many are looked through, in the order of their keys.
    package static let examined = 2_000

    package static func pick(_ devices: [(key: DeviceKey, contactAt: UnixTime)]) -> [DeviceKey] {
        let newestFirst = devices.sorted { left, right in
            (right.contactAt, right.key) < (left.contactAt, left.key)
        }
        return newestFirst.prefix(limit).map { $0.key }
    }
}

/// A stretch of a device's rows.
package struct DevicePage: Sendable, Equatable {
    package static let limit = 200

    /// Which stretch: several commands of one group may ask for different ones.
    package struct Key: Sendable, Hashable {
        package let device: DeviceKey
        package let below: ActivityNumber
        package init(_ device: DeviceKey, below: ActivityNumber) {
            self.device = device
            self.below = below
        }
    }

    /// The oldest activity of the stretch; `nil`: there is none.
    package var last: ActivityNumber?
    /// The device has no row of an older one.
    package var isComplete: Bool

    package init(last: ActivityNumber?, isComplete: Bool) {
        self.last = last
        self.isComplete = isComplete
    }
}
