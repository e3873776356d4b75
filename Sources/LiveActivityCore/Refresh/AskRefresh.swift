package import APNSModel

/// Asks the providers of types what people should see.
///
/// The computation runs in the background. Several requests before it runs cause one computation.
package struct AskRefresh: Command {
    package struct Reply: Sendable, Equatable, IdempotentReply {
        /// Number of computations that are due now: one for each type and person with a device.
        package var asked: Int
    }

    /// Maximum number of people in one command.
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
            // Without a device there is nothing to compute. A device that registers later asks for it itself.
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
    /// Time zone of a device that never reported one.
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

    /// Asks for computations after a device was added, or its time zone or owner changed, because it is not known what
    /// it should show. Needs the `refreshes` key of its person.
    static func askAfterNews(of device: DeviceRecord, app: AppSettings, now: UnixTime, _ draft: inout Draft) {
        for type in app.providedTypes {
            ask(device.userID, device.user, type, of: app.bundleID, .prompt, now: now, &draft)
        }
    }
}

extension AppSettings {
    /// Names of the types whose states a provider computes, in order.
    package var providedTypes: [String] { types.values.filter(\.isProvided).map(\.name).sorted() }
}
