package import APNSModel

/// A change of the stored state: the keys it needs, and a pure function from what stands there to changes or a refusal.
///
/// An engine loads the keys, runs `decide`, writes what the draft holds and commits, together with other commands. A
/// refused command leaves nothing behind. A command may be run again, so it must not count on being run once.
package protocol Command: Sendable {
    associatedtype Reply: Sendable
    var keys: [SnapshotKey] { get }
    /// Lower goes first when several wait: what callers wait for before what they do not.
    var rank: CommandRank { get }
    /// `false` for one that never refuses: nothing has to be kept to undo it.
    static var mayBeRefused: Bool { get }
    /// Runs in a commit of its own: what it sees by a query must be what the database holds.
    var isAlone: Bool { get }
    /// How much writing it means: groups are limited by the sum.
    var weight: Int { get }
    func decide(_ draft: inout Draft) throws(Refusal) -> Reply
}

extension Command {
    package static var mayBeRefused: Bool { true }
    package var isAlone: Bool { rank == .claim || rank == .prune }
    package var weight: Int { 1 }
}

package enum CommandRank: Int, Sendable, Comparable, CaseIterable {
    case write, settle, claim, prune

    package var name: String { "\(self)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What a command needs to see. The engine knows how to load each.
package enum SnapshotKey: Sendable, Equatable {
    /// An activity with content and lanes; nothing of its phones.
    case activity(BundleID, ActivityID)
    /// The same by its number, with the cards of these devices and nothing else of them.
    case cards(ActivityNumber, devices: [DeviceKey])
    /// The same, with their tokens and the devices themselves.
    case phones(ActivityNumber, devices: [DeviceKey])
    /// An activity's audience: the people, their devices and tokens, and those devices' cards of this activity. Of
    /// one with more members than a call may name nothing but the audience's own row. `wholeAudiences` tells which.
    case members(BundleID, ActivityID)
    /// People with their devices and tokens, and those devices' cards of the activity, if one is named.
    case users(BundleID, [UserID], ActivityID?)
    /// A device with its tokens, its tombstones and the cards that `DeviceRows` says, with their activities,
    /// contents, lanes and update tokens.
    case device(BundleID, DeviceID, DeviceRows = DeviceRows())
    /// The next page of a device's cards, the newest activities first, as `device` gives them. See `DevicePage`.
    case devicePage(BundleID, DeviceID, below: ActivityNumber)
    /// The activities a person is in the audience of and that `JoinableActivities` says, with content, lanes and the
    /// cards and update tokens of the device that signs in, which is to be asked for by `device` too. Of the
    /// person's devices those that `RecentDevices` says, and where they decide their cards and start tokens.
    case activitiesOf(BundleID, UserID, JoinableActivities)
    /// Who owns these token values, and the rows that hold them: an update token, or the owner's device tokens.
    case owners(BundleID, [TokenValue])
    /// The devices that own these values as start or device tokens, as `device` gives them by default.
    case holders(BundleID, [TokenValue])
    /// The audience's own row, and of these people: whether they belong to it, their devices and tokens, and those
    /// devices' cards of the activity.
    case audience(BundleID, ActivityID, [UserID])
    /// At most `limit` members in the order of their numbers, from the one after `after`: those that the replacement
    /// `besides` did not name, with devices, tokens and cards; with the audience's own row.
    case audiencePage(BundleID, ActivityID, after: UserNumber, limit: Int, besides: Int64?)
    /// What was answered to the call with this key, by its hash.
    case idempotency(BundleID, hash: [UInt8])
    /// Lanes that have something to do, the longest waiting first, with their activities, contents and a `page` of
    /// phones each. See `DueLanes`.
    case due(DueLanes)
    /// Ordinary notifications that have something to do, the longest waiting first, with the devices that are due:
    /// rows, devices, device tokens, and of fallbacks the cards. See `DueNotifications`.
    case dueNotifications(DueNotifications)
    /// These rows with their notifications, and of fallbacks the cards.
    case addressees([AddresseeKey])
    /// What stands of these people's computations of these types.
    case refreshes(BundleID, [UserID], [String])
    /// What a type's provider left for its next answers about a person, in every time zone.
    case memos(BundleID, UserID, String)
    /// The activities that these types have on a device, for its owner and for these people (`ProvidedActivity`), and
    /// what stands of the computations for them.
    case provided(BundleID, DeviceID, owners: [UserID], types: [String])
    /// Computations that are due, with the memos, devices and tokens of their people. See `DueRefreshes`.
    case dueRefreshes(DueRefreshes)
}

/// Which ordinary notifications a claim is to see: those whose `nextAt` has come, each with the devices whose `dueAt`
/// has, in their order; of one that has expired all its devices.
package struct DueNotifications: Sendable, Equatable {
    package var at: UnixTime
    package var notifications: Int
    /// Devices in all, and of one notification.
    package var addressees: Int
    package var addresseesOfOne: Int

    package init(at time: UnixTime, notifications: Int, addressees: Int, addresseesOfOne: Int) {
        at = time
        self.notifications = notifications
        self.addressees = addressees
        self.addresseesOfOne = addresseesOfOne
    }
}

/// Which lanes a claim is to see.
///
/// First those that another process had in flight; then by time those whose `nextAt` has come and all those of
/// activities whose `wakeAt` has. Each that may be claimed comes with a page of phones as long as there is room: what
/// `LaneRecord.page(for:)` names. Of an abandoned flight's lane the phones of that flight; of one that is in flight,
/// backs off, or found no room, no page. A lane that should split comes with the counts of its lower half.
package struct DueLanes: Sendable, Equatable {
    package var at: UnixTime
    package var lanes: Int
    /// Phones in all, of one activity, and of one lane: more than a flight takes would be read in vain.
    package var phones: Int
    package var phonesOfOne: Int
    package var phonesOfLane: Int
    /// How many pushes may leave: no more phones of an activity are read.
    package var pace: Pacer.Grant
    package var node: Int64
    package var width: LaneRecord.Limits
    /// The types whose starts depend on how many cards the device shows: these come with `cards`.
    package var counting: [BundleID: Set<String>]

    package init(
        at time: UnixTime, lanes: Int, phones: Int, phonesOfOne: Int, phonesOfLane: Int = .max,
        pace: Pacer.Grant = Pacer.unlimited, node: Int64,
        width: LaneRecord.Limits = LaneRecord.Limits(), counting: [BundleID: Set<String>] = [:]
    ) {
        self.phonesOfLane = phonesOfLane
        self.pace = pace
        self.counting = counting
        at = time
        self.lanes = lanes
        self.phones = phones
        self.phonesOfOne = phonesOfOne
        self.node = node
        self.width = width
    }

    /// Phones of one activity for which there is room in one claim.
    package func room(of activity: ActivityNumber) -> Int { min(phonesOfOne, pace.room(of: activity)) }
}

/// Why a command was refused. Nothing was changed.
package enum Refusal: Error, Sendable, Equatable {
    case unknownActivity(ActivityID)
    case unknownDevice(DeviceID)
    /// Another person is signed in on it, and nothing shows that the caller holds the phone.
    case deviceTaken(DeviceID)
    /// The phone reported as many cards of activities that do not know its person as are kept.
    case tooManyAwaiting(limit: Int)
    /// The phone reported as many new cards of activities that anybody may join as are taken in a day.
    case tooManyCards(limit: Int)
    /// The person has as many devices as one may have on their own word.
    case tooManyDevices(limit: Int)
    /// The device named as many new tokens as are taken in a day.
    case tooManyTokens(limit: Int)
    /// The device was another person's, with more activities than one commit takes: `HandOverDevice` comes first.
    case deviceChangesHands(DeviceID)
    case activityEnded(ActivityID)
    case notAnActivityYet(ActivityID)
    case typeDiffers(ActivityID, is: String)
    case attributesDiffer(ActivityID)
    case activityIDConflict(pointer: String)
    /// With what fills it, the largest first.
    case payloadTooLarge(PayloadError, [FieldSize] = [])
    case contractViolation(ContractViolation)
    case audienceTooLarge(limit: Int)
    case deadToken
    case activityNotNamed
    /// The type of a stored activity is not configured any more.
    case unknownType(String)
    /// `If-Match` names another revision; 0: there is no such activity.
    case revisionDiffers(ActivityID, current: Revision)
    case idempotencyKeyReused
    /// A newer replacement of the audience has begun.
    case sessionReplaced(ActivityID)
    /// The session's last page came already, and this one names somebody else.
    case sessionClosed(ActivityID)
}
