import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// A call that only asks for its effect. It is decided on the current data and not stored.
struct DryRun {
    private let after: DeviceKey?
    private let limit: Int

    /// Creates a dry run. Returns `nil` if the call is not one.
    ///
    /// - Throws: `invalid_query`, also for `limit` or `after` without a dry run.
    init?(_ call: Call) throws(Problem) {
        guard try call.query.flag("dryRun") else {
            guard call.query["limit"] == nil, call.query["after"] == nil else {
                throw Problem(.invalidQuery, "`limit` and `after` are for dry runs", fix: "add `dryRun=true`")
            }
            return nil
        }
        let page = try PhonePage(call.query)
        after = page.after
        limit = page.limit
    }

    func preview<C: Command>(
        _ command: C, of id: ActivityID, in call: Call
    ) async throws(Problem) -> Preview<C.Reply> {
        var stretches = [PhoneStretch(after: -1, limit: call.services.limits.previewedPhones)]
        if let after { stretches.append(PhoneStretch(after: after, limit: limit + 1)) }
        let phones = stretches
        let result = try await call.ask { () async throws(StorageError) in
            try await call.services.store.preview(command, of: id, in: call.app.bundleID, phones: phones)
        }
        do throws(Refusal) { return try result.get() } catch { throw Problem(error) }
    }

    func tally<Reply>(_ preview: Preview<Reply>, _ call: Call) -> Outlook.Tally {
        outlook(preview, call).tally(preview.phones.first ?? [])
    }

    /// Returns what follows on the phones of the page, and the cursor of the next page.
    func page<Reply>(_ preview: Preview<Reply>, _ call: Call) -> (devices: [DeviceVerdict], next: String?) {
        let outlook = outlook(preview, call)
        let found = (preview.phones.last ?? []).prefix(limit + 1)
        let listed = found.prefix(limit)
        let devices = listed.map { phone in
            let verdict = outlook.verdict(on: phone)
            return DeviceVerdict(
                device: phone.device.id.text, user: phone.device.userID.text, course: "\(verdict.course)",
                reason: verdict.reason)
        }
        return (devices, found.count > limit ? listed.last.map { PhonePage.cursor($0.device.key) } : nil)
    }

    private func outlook<Reply>(_ preview: Preview<Reply>, _ call: Call) -> Outlook {
        Outlook(preview.state, app: call.app, now: call.now, since: nil)
    }
}
