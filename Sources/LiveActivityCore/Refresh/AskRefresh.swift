package import APNSModel

/// Asks the providers of types what people should see: computed in the background, soon and once, however often asked.
package struct AskRefresh: Command {
    package struct Reply: Sendable, Equatable, IdempotentReply {
        /// The computations that are due now: one for each type and person that has a device.
        package var asked: Int
    }

    /// The people one command may name.
    package static let maximumUsers = 1000

    package let app: BundleID
    package let users: [UserID]
    package let types: [String]
    package let pace: RefreshRecord.Pace
    package let now: UnixTime

    package init(app: BundleID, users: [UserID], types: [String], pace: RefreshRecord.Pace, now: UnixTime) {
        self.app = app
        self.users = users
        self.types = types
        self.pace = pace
        self.now = now
    }

    package var rank: CommandRank { .write }
    package static var mayBeRefused: Bool { false }
    package var weight: Int { 1 + users.count }
    package var keys: [SnapshotKey] { [.users(app, users, nil), .refreshes(app, users, types)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        var asked = 0
        for user in users {
            guard let number = draft.snapshot.users[.init(app, user)] else { continue }
            // Where there is no phone there is nothing to compute; one that appears asks by itself.
            guard draft.devices(of: number).contains(where: { $0.signedOutAt == nil }) else { continue }
            for type in types {
                Refreshes.ask(user, number, type, of: app, pace, now: now, &draft)
                asked += 1
            }
        }
        return Reply(asked: asked)
    }
}

package enum Refreshes {
    /// The zone of a device that never named one.
    package static let defaultZone = "UTC"

    static func ask(
        _ user: UserID, _ number: UserNumber, _ type: String, of app: BundleID, _ pace: RefreshRecord.Pace,
        now: UnixTime, _ draft: inout Draft
    ) {
        var record =
            draft.snapshot.refreshes[RefreshKey(number, type)]
            ?? RefreshRecord(user: number, type: type, app: app, userID: user)
        record.ask(pace, at: now)
        draft.put(record)
    }

    /// A device appeared, moved to another zone or got another owner: what it should show is not known. Needs the keys
    /// `refreshes` of its person.
    static func askAfterNews(of device: DeviceRecord, app: AppSettings, now: UnixTime, _ draft: inout Draft) {
        for type in app.providedTypes {
            ask(device.userID, device.user, type, of: app.bundleID, .prompt, now: now, &draft)
        }
    }
}

extension AppSettings {
    /// The names of the types whose states a provider computes, in order.
    package var providedTypes: [String] { types.values.filter(\.isProvided).map(\.name).sorted() }
}
