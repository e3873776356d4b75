package import APNSModel

/// Cuts the link of a device's former person page by page, where it has more activities than one commit takes, and
/// gives the device to the next person with the last page. `RegisterDevice` signs that person in afterwards.
///
/// Nothing is kept of how far it came: from the first page on the device is signed out, so that the former person's
/// activities show nothing more there, and whoever begins anew begins with the newest activity.
package struct HandOverDevice: Command {
    /// How far it came.
    package struct Progress: Sendable, Equatable {
        package var below: ActivityNumber
        /// When the device was signed out: a sign-in since takes activities in again, and it begins anew.
        package var since: UnixTime?

        package static let begin = Self(below: .max, since: nil)
    }

    /// Pages that one call goes through: beyond them it is to be repeated.
    package static let maximumPages = 1_000

    package let registration: RegisterDevice
    package let progress: Progress

    package init(for registration: RegisterDevice, _ progress: Progress) {
        self.registration = registration
        self.progress = progress
    }

    /// Behind what others wait for: a person with many activities costs nobody else.
    package var rank: CommandRank { .prune }
    package var weight: Int { DevicePage.limit }
    package var keys: [SnapshotKey] {
        registration.keys + [.devicePage(registration.app.bundleID, registration.id, below: progress.below)]
    }

    /// - Returns: How far it is now; `nil`: the device is the next person's.
    package func decide(_ draft: inout Draft) throws(Refusal) -> Progress? {
        let (found, user) = try registration.admitted(&draft)
        guard var device = found, device.user != user else { return nil }
        let now = registration.now
        if let since = progress.since, device.signedOutAt != since { return .begin }
        DeviceOwnership.cut(device, now: now, &draft)
        device.signedOutAt = progress.since ?? now
        device.credentials = []
        let page = draft.snapshot.devicePages[.init(device.key, below: progress.below)]
        var next: Progress?
        if let page, !page.isComplete, let last = page.last {
            next = Progress(below: last, since: device.signedOutAt)
        } else {
            device.pass(to: user, registration.body.user)
        }
        draft.put(device)
        return next
    }
}
