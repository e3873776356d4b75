package import APNSModel

/// Removes a device's former person from it page by page, if that person has more activities than one commit takes. The
/// last page gives the device to the next person, whom `RegisterDevice` then signs in.
///
/// No progress is stored. The first page signs the device out, so it shows the former person's activities no longer. A
/// call that begins again begins with the newest activity.
package struct HandOverDevice: Command {
    /// Progress of a hand-over.
    package struct Progress: Sendable, Equatable {
        package var below: ActivityNumber
        /// Time at which the device was signed out. If a sign-in has happened since, the hand-over begins again.
        package var since: UnixTime?

        package static let begin = Self(below: .max, since: nil)
    }

    /// Maximum number of pages in one call. Beyond it, the call must be repeated.
    package static let maximumPages = 1_000

    package let registration: RegisterDevice
    package let progress: Progress

    package init(for registration: RegisterDevice, _ progress: Progress) {
        self.registration = registration
        self.progress = progress
    }

    /// The lowest rank, so that a person with many activities delays nobody else.
    package var rank: CommandRank { .prune }
    package var weight: Int { DevicePage.limit }
    package var keys: [SnapshotKey] {
        registration.keys + [.devicePage(registration.app.bundleID, registration.id, below: progress.below)]
    }

    /// Handles one page of activities.
    ///
    /// - Returns: The progress after this page; `nil` if the device belongs to the next person.
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
