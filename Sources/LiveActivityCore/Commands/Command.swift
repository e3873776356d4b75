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
    func decide(_ draft: inout Draft) throws(Refusal) -> Reply
}

package enum CommandRank: Int, Sendable, Comparable {
    case write, settle, claim

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What a command needs to see. The engine knows how to load each.
package enum SnapshotKey: Sendable, Equatable {
    /// An activity with content and lane; nothing of its phones.
    case activity(BundleID, ActivityID)
    /// The same by its number, with the instances of these devices, their tokens and the devices themselves.
    case phones(ActivityNumber, devices: [DeviceKey])
    /// An activity's audience: the people, their devices and tokens, and those devices' instances of this activity.
    case members(BundleID, ActivityID)
    /// People with their devices and tokens, and those devices' instances of the activity, if one is named.
    case users(BundleID, [UserID], ActivityID?)
    /// A device with its tokens, instances (their activities, contents, lanes and update tokens) and tombstones.
    case device(BundleID, DeviceID)
    /// The activities a person is in the audience of, with content, lane and the instances of all their devices.
    case activitiesOf(BundleID, UserID)
    /// Who owns these token values, and the rows that hold them: an update token, or the owner's device tokens.
    case owners([TokenValue])
    /// Activities whose time has come, earliest first, with content, lane, and a page of phones: of the `stretches` of
    /// the lane `inLap` for the activity's revision, at most `phones` in all and at most half of them of one activity.
    /// Of an abandoned flight's lane, all phones of the flight's range; of one that is not abandoned, none. Lanes that
    /// another process had in flight come first, whether their time has come or not.
    case due(at: UnixTime, lanes: Int, phones: Int, node: Int64)
}

/// Why a command was refused. Nothing was changed.
package enum Refusal: Error, Sendable, Equatable {
    case unknownActivity(ActivityID)
    case unknownDevice(DeviceID)
    case activityEnded(ActivityID)
    case notAnActivityYet(ActivityID)
    case typeDiffers(ActivityID, is: String)
    case attributesDiffer(ActivityID)
    case activityIDConflict(pointer: String)
    case payloadTooLarge(PayloadError)
    case audienceTooLarge(limit: Int)
    case deadToken
    case activityNotNamed
}

/// Rows as they stand, by their keys.
package struct Snapshot: Sendable {
    package struct AppID<ID: Sendable & Hashable>: Sendable, Hashable {
        package let app: BundleID
        package let id: ID
        package init(_ app: BundleID, _ id: ID) {
            self.app = app
            self.id = id
        }
    }
    package struct PhoneKey: Sendable, Hashable, Comparable {
        package let activity: ActivityNumber
        package let device: DeviceKey
        package init(_ activity: ActivityNumber, _ device: DeviceKey) {
            self.activity = activity
            self.device = device
        }
        package static func < (left: Self, right: Self) -> Bool {
            (left.activity, left.device) < (right.activity, right.device)
        }
    }
    package struct DeviceTokenKey: Sendable, Hashable {
        package let device: DeviceKey
        package let kind: DeviceTokenRecord.Kind
        package let type: String
        package init(_ device: DeviceKey, _ kind: DeviceTokenRecord.Kind, _ type: String) {
            self.device = device
            self.kind = kind
            self.type = type
        }
    }
    package struct TombstoneKey: Sendable, Hashable {
        package let device: DeviceKey
        package let localID: LocalID
        package init(_ device: DeviceKey, _ localID: LocalID) {
            self.device = device
            self.localID = localID
        }
    }

    package var activities: [ActivityNumber: ActivityRecord] = [:]
    package var activityNumbers: [AppID<ActivityID>: ActivityNumber] = [:]
    package var contents: [ActivityNumber: ContentRecord] = [:]
    package var lanes: [ActivityNumber: LaneRecord] = [:]
    package var users: [AppID<UserID>: UserNumber] = [:]
    package var devices: [DeviceKey: DeviceRecord] = [:]
    package var deviceKeys: [AppID<DeviceID>: DeviceKey] = [:]
    package var deviceTokens: [DeviceTokenKey: DeviceTokenRecord] = [:]
    package var instances: [PhoneKey: InstanceRecord] = [:]
    package var updateTokens: [PhoneKey: UpdateTokenRecord] = [:]
    package var members: [ActivityNumber: Set<UserNumber>] = [:]
    package var tombstones: [TombstoneKey: TombstoneRecord] = [:]
    package var owners: [TokenValue: TokenOwnerRecord] = [:]
    /// What `SnapshotKey.due` found, in order.
    package var due: [ActivityNumber] = []
    /// The phones of each due activity's page, in the order to look at them.
    package var pages: [ActivityNumber: Page] = [:]
    /// Phones whose device has an open start of another activity that its card could not be told apart from.
    package var otherOpenStarts: Set<PhoneKey> = []
    package var nextActivityNumber: ActivityNumber = 1
    package var nextUserNumber: UserNumber = 1

    /// A stretch of a lane.
    package struct Page: Sendable, Equatable {
        package var devices: [DeviceKey]
        /// No phone of the stretch was left out.
        package var isComplete: Bool
        package init(devices: [DeviceKey], isComplete: Bool) {
            self.devices = devices
            self.isComplete = isComplete
        }
    }

    package init() {}
}
