package import APNSModel

/// Selection of a device's rows for one call. It is bounded, however many rows the phone or its person has left.
///
/// The selection takes the rows of the newest activities, whatever their state. For a device with more rows, it adds:
///
/// - rows that may have a card
/// - rows of the cards and activities that the call names
/// - rows whose activity runs
package struct DeviceRows: Sendable, Equatable {
    package static let newest = 100
    package static let open = 100
    package static let running = 100
    /// Number of the device's newest activities that are searched for running ones.
    package static let examined = 2_000

    /// Cards that the call names. A card that is over is also found by its tombstone.
    package var cards: [LocalID] = []
    package var activities: [ActivityID] = []
    package var withRunning = true

    package init(cards: [LocalID] = [], activities: [ActivityID] = [], withRunning: Bool = true) {
        self.cards = cards
        self.activities = activities
        self.withRunning = withRunning
    }
}

/// Selection of the person's activities that a device joins when it signs in: the newest of those that it may still
/// show.
///
/// If only one device is to show a card, the decision depends on the cards on the person's other devices. A limited
/// number of their rows is read. Activities beyond that limit are left to the device's next call. That call does not
/// need these rows for activities that the device has joined by then.
package struct JoinableActivities: Sendable, Equatable {
    package static let limit = 100
    /// Number of the person's newest activities that are searched.
    package static let examined = 2_000
    /// Maximum number of rows of other devices that are read. It covers all `limit` activities of a person with ten
    /// devices.
    package static let rowsOfOthers = 1_000

    /// The device that signs in.
    package var device: DeviceID
    /// Ended activities are selected only if they ended after this time.
    package var endedSince: UnixTime
    /// Types whose ended activities are all selected, because they may begin again.
    package var reusableTypes: [String]

    package init(device: DeviceID, endedSince: UnixTime, reusableTypes: [String]) {
        self.device = device
        self.endedSince = endedSince
        self.reusableTypes = reusableTypes
    }

    package struct Candidate: Sendable {
        let number: ActivityNumber
        let looksAtOthers: Bool

        /// Creates a candidate.
        ///
        /// - Parameter looksAtOthers: The value of `Audience.looksAtOthers`.
        package init(_ number: ActivityNumber, looksAtOthers: Bool) {
            self.number = number
            self.looksAtOthers = looksAtOthers
        }
    }

    package struct Pick: Sendable {
        /// Activities that the device joins.
        package fileprivate(set) var taken: [ActivityNumber] = []
        /// Activities of `taken` for which the other devices' rows are needed.
        package fileprivate(set) var withOthers: [ActivityNumber] = []
    }

    /// Returns the activities that the device joins.
    ///
    /// - Parameters:
    ///   - candidates: Activities, newest first.
    ///   - others: Number of devices whose rows are read where needed. See `RecentDevices`.
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

/// Selection of the person's devices that a sign-in looks at: those with the latest contact, signed out or not.
package enum RecentDevices {
    /// At least the number of devices that a person may have, because they are counted among these.
    package static let limit = RegisterDevice.maximumDevices
    /// Number of the person's devices that are searched, ordered by key.
    package static let examined = 2_000

    package static func pick(_ devices: [(key: DeviceKey, contactAt: UnixTime)]) -> [DeviceKey] {
        let newestFirst = devices.sorted { left, right in
            (right.contactAt, right.key) < (left.contactAt, left.key)
        }
        return newestFirst.prefix(limit).map { $0.key }
    }
}

/// Page of a device's rows.
package struct DevicePage: Sendable, Equatable {
    package static let limit = 200

    /// Key of a page. Several commands of one group may ask for different pages.
    package struct Key: Sendable, Hashable {
        package let device: DeviceKey
        package let below: ActivityNumber
        package init(_ device: DeviceKey, below: ActivityNumber) {
            self.device = device
            self.below = below
        }
    }

    /// Oldest activity of the page; `nil` if the page is empty.
    package var last: ActivityNumber?
    /// `true` if the device has no row of an older activity.
    package var isComplete: Bool

    package init(last: ActivityNumber?, isComplete: Bool) {
        self.last = last
        self.isComplete = isComplete
    }
}
