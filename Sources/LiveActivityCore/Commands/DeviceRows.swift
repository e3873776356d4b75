package import APNSModel

/// Which of a device's instances a call looks at: so many and no more, whatever the phone or its person has left.
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
package struct JoinableActivities: Sendable, Equatable {
    package static let limit = 100
    /// Of the person's activities the newest so many are looked through.
    package static let examined = 2_000

    /// Of those that have ended only those that did so after this instant.
    package var endedSince: UnixTime
    /// Of these types all that have ended: they may begin anew.
    package var reusableTypes: [String]

    package init(endedSince: UnixTime, reusableTypes: [String]) {
        self.endedSince = endedSince
        self.reusableTypes = reusableTypes
    }
}

/// A stretch of a device's instances.
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
    /// The device has no instance of an older one.
    package var isComplete: Bool

    package init(last: ActivityNumber?, isComplete: Bool) {
        self.last = last
        self.isComplete = isComplete
    }
}
