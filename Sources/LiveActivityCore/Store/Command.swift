package import APNSModel

/// Change of the stored state: the keys that it reads, and a pure function from their rows to changes or a refusal.
///
/// An engine loads the keys, runs `decide`, writes the draft's changes and commits. Several commands may share one
/// commit. A refused command leaves no change. A command may run more than once, so `decide` must not rely on running
/// once.
package protocol Command: Sendable {
    associatedtype Reply: Sendable
    var keys: [SnapshotKey] { get }
    /// Rank among waiting commands; a lower rank runs first. Commands that a caller waits for rank before those that
    /// nobody waits for.
    var rank: CommandRank { get }
    /// `false` if the command never refuses. The draft then keeps nothing to undo it.
    static var mayBeRefused: Bool { get }
    /// Name of the command for traces.
    static var name: String { get }
    /// `true` if no command may share the run of this one, because its queries must see exactly what the database
    /// holds. A claim may still be the last in the transaction of others.
    var isAlone: Bool { get }
    /// Amount of writing, in units of a simple command. The sum of the weights limits a group.
    var weight: Int { get }
    func decide(_ draft: inout Draft) throws(Refusal) -> Reply
}

extension Command {
    package static var mayBeRefused: Bool { true }
    package static var name: String { "\(Self.self)" }
    package var isAlone: Bool { rank == .claim || rank == .prune }
    package var weight: Int { 1 }
}

package enum CommandRank: Int, Sendable, Comparable, CaseIterable {
    case write, settle, claim, prune

    package var name: String { "\(self)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Rows that a command reads. The engine knows how to load each kind.
package enum SnapshotKey: Sendable, Equatable {
    /// An activity with its content and lanes, without its phones.
    case activity(BundleID, ActivityID)
    /// An activity with its content and lanes. If it has few phones, they come as for `phones`, and
    /// `Snapshot.fewPhones` lists them.
    case activityWithPhones(BundleID, ActivityID)
    /// An activity by its number, with its content, its lanes and the cards of these devices.
    case cards(ActivityNumber, devices: [DeviceKey])
    /// An activity by its number, with its content and lanes, and these devices with their cards and tokens.
    case phones(ActivityNumber, devices: [DeviceKey])
    /// An activity's audience: its people, their devices and tokens, and the devices' cards of this activity.
    ///
    /// If the audience has more members than a call may name, only its own row is loaded. `Snapshot.wholeAudiences`
    /// tells the two cases apart.
    case members(BundleID, ActivityID)
    /// People with their devices and tokens. If an activity is named, also the devices' cards of it.
    case users(BundleID, [UserID], ActivityID?)
    /// A device with its tokens, its tombstones and the cards that `DeviceRows` selects. The cards come with their
    /// activities, contents, lanes and update tokens.
    case device(BundleID, DeviceID, DeviceRows = DeviceRows())
    /// The next page of a device's cards, newest activities first, with the same rows as `device`. See `DevicePage`.
    case devicePage(BundleID, DeviceID, below: ActivityNumber)
    /// The activities that a person is in the audience of and that `JoinableActivities` selects, with contents and
    /// lanes.
    ///
    /// They come with the cards and update tokens of the device that signs in; the command must also ask for it with
    /// `device`. The person's devices that `RecentDevices` selects are loaded too. Where they decide on which device a
    /// card is started, so are their cards and push-to-start tokens.
    case activitiesOf(BundleID, UserID, JoinableActivities)
    /// The owners of these token values, and the rows that hold them: an update token, or the owner's device tokens.
    case owners(BundleID, [TokenValue])
    /// The devices that own these values as push-to-start or device tokens, with the rows that `device` loads by
    /// default.
    case holders(BundleID, [TokenValue])
    /// The audience's own row, and for each of these people: membership, devices and tokens, and the devices' cards of
    /// the activity.
    case audience(BundleID, ActivityID, [UserID])
    /// A page of at most `limit` members, ordered by number, starting after `after`, with the audience's own row.
    ///
    /// Of the page's members, those that the replacement `besides` did not name come with devices, tokens and cards.
    case audiencePage(BundleID, ActivityID, after: UserNumber, limit: Int, besides: Int64?)
    /// The answer to an earlier call with this key, found by its hash.
    case idempotency(BundleID, hash: [UInt8])
    /// Lanes that have work, with their activities, contents and a page of phones each. See `DueLanes`.
    case due(DueLanes)
    /// Ordinary notifications that have work, longest waiting first. See `DueNotifications`.
    ///
    /// They come with the due devices: rows, devices, device tokens and, for fallbacks, the cards.
    case dueNotifications(DueNotifications)
    /// These rows with their notifications and, for fallbacks, the cards.
    case addressees([AddresseeKey])
    /// The records of these people's computations of these types.
    case refreshes(BundleID, [UserID], [String])
    /// The memos that a type's provider left for its next answers about a person, in every time zone.
    case memos(BundleID, UserID, String)
    /// The activities of these types on a device, for its owner and for these people, with the records of their
    /// computations. See `ProvidedActivity`.
    case provided(BundleID, DeviceID, owners: [UserID], types: [String])
    /// Computations that are due, with the memos, devices and tokens of their people. See `DueRefreshes`.
    case dueRefreshes(DueRefreshes)
    /// A channel with its activity, if that exists.
    case channel(ChannelKey)
    /// All channels of a route, and those that this server has not made.
    case channels(PushRoute)
    /// Channels that are due, with their activities. See `DueChannels`.
    case dueChannels(DueChannels)
}

/// Selection of the ordinary notifications for a claim: those whose `nextAt` has come.
///
/// Each comes with the devices whose `dueAt` has come, in that order. A notification that has expired comes with all
/// its devices.
package struct DueNotifications: Sendable, Equatable {
    package var at: UnixTime
    package var notifications: Int
    /// Maximum number of devices in total; `addresseesOfOne` is the maximum for one notification.
    package var addressees: Int
    package var addresseesOfOne: Int

    package init(at time: UnixTime, notifications: Int, addressees: Int, addresseesOfOne: Int) {
        at = time
        self.notifications = notifications
        self.addressees = addressees
        self.addresseesOfOne = addresseesOfOne
    }
}

/// Selection of the lanes for a claim.
///
/// Lanes that another process had in flight come first. Then come, in turns, lanes whose `waitsFor` is met, and by time
/// the lanes whose `nextAt` has come and all lanes of activities whose `wakeAt` has come.
///
/// | lane | phones that come with it |
/// |---|---|
/// | may be claimed | the page that `LaneRecord.page(for:at:)` names, as long as there is room |
/// | has an abandoned flight | the phones of that flight |
/// | in flight, backing off, or without room | none |
///
/// A lane that should split comes with the counts of its lower half.
package struct DueLanes: Sendable, Equatable {
    package var at: UnixTime
    package var lanes: Int
    /// Maximum number of phones in total, of one activity, and of one lane. A flight takes no more phones of a lane
    /// than that.
    package var phones: Int
    package var phonesOfOne: Int
    package var phonesOfLane: Int
    /// Number of pushes that may leave. No more phones of an activity are read.
    package var pace: Pacer.Grant
    package var node: Int64
    package var width: LaneRecord.Limits
    package var apps: [BundleID: AppSettings]
    package var gate: CircuitGate

    package init(
        at time: UnixTime, lanes: Int, phones: Int, phonesOfOne: Int, phonesOfLane: Int = .max,
        pace: Pacer.Grant = Pacer.unlimited, node: Int64,
        width: LaneRecord.Limits = LaneRecord.Limits(), apps: [BundleID: AppSettings] = [:], gate: CircuitGate = .open
    ) {
        self.phonesOfLane = phonesOfLane
        self.pace = pace
        self.apps = apps
        self.gate = gate
        at = time
        self.lanes = lanes
        self.phones = phones
        self.phonesOfOne = phonesOfOne
        self.node = node
        self.width = width
    }

    /// Returns the number of phones of one activity for which one claim has room.
    package func room(of activity: ActivityNumber) -> Int { min(phonesOfOne, pace.room(of: activity)) }
}

/// Reason why a command was refused. A refusal changes nothing.
package enum Refusal: Error, Sendable, Equatable {
    case unknownActivity(ActivityID)
    case unknownDevice(DeviceID)
    /// Another person is signed in on the device, and nothing shows that the caller holds the phone.
    case deviceTaken(DeviceID)
    /// Within 24 hours, the phone has reported the maximum number of new cards of activities that do not admit its
    /// person.
    case tooManyAwaiting(limit: Int)
    /// Within 24 hours, the phone has reported the maximum number of new cards of activities whose audience does not
    /// include its person.
    case tooManyCards(limit: Int)
    /// The person already has the maximum number of devices registered on their own word.
    case tooManyDevices(limit: Int)
    /// Within 24 hours, the device has reported the maximum number of new tokens.
    case tooManyTokens(limit: Int)
    /// The device belonged to another person and has more activities than one commit takes. Run `HandOverDevice` first.
    case deviceChangesHands(DeviceID)
    case activityEnded(ActivityID)
    case notAnActivityYet(ActivityID)
    case typeDiffers(ActivityID, is: String)
    case attributesDiffer(ActivityID)
    case activityIDConflict(pointer: String)
    /// The payload is too large. The sizes name the fields that fill it, largest first.
    case payloadTooLarge(PayloadError, [FieldSize] = [])
    case contractViolation(ContractViolation)
    case audienceTooLarge(limit: Int)
    case deadToken
    case activityNotNamed
    /// The type of a stored activity is no longer configured.
    case unknownType(String)
    /// `If-Match` names another revision. 0 means that the activity does not exist.
    case revisionDiffers(ActivityID, current: Revision)
    case idempotencyKeyReused
    /// A newer replacement of the audience has begun.
    case sessionReplaced(ActivityID)
    /// The session's last page has already arrived, and this page names another person.
    case sessionClosed(ActivityID)
}
