import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityStorage
import TestSupport

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Phones whose apps report tokens of every kind.
enum SealedPhones {
    static let app = Sample.app(Sample.type { $0.start = .appOnly })

    /// A phone's tokens of one round. The next round's tokens replace them.
    struct Tokens: Sendable {
        let device: DeviceToken
        let start: PushToStartToken
        let update: UpdateToken

        init(_ phone: Int, round: Int) {
            device = Sample.token("device-\(phone)-\(round)")
            start = Sample.token("start-\(phone)-\(round)")
            update = Sample.token("update-\(phone)-\(round)")
        }

        var values: [TokenValue] { [TokenValue(device), TokenValue(start), TokenValue(update)] }
    }

    static func tell(
        _ store: SQLStore, _ phone: Int, round: Int = 0, activity: String = "a"
    ) async throws {
        let tokens = Tokens(phone, round: round)
        var body = RegisterDevice.Body(user: Sample.user("u\(phone)"))
        body.osVersion = OSVersion(18, 0)
        body.environment = .production
        body.deviceToken = tokens.device
        let device = Sample.device("d\(phone)")
        _ = try await store.commit(
            RegisterDevice(app: app, id: device, body: body, now: Sample.now, freshKey: DeviceKey(phone))
        ).get()
        _ = try await store.commit(
            RegisterPushToStartToken(app: app, id: device, type: "order", token: tokens.start, now: Sample.now)
        ).get()
        var report = CardReport(localID: Sample.local("\(activity)-\(phone)"), type: Sample.type(), state: .active)
        report.activity = Sample.activityID(activity)
        report.token = tokens.update
        _ = try await store.commit(ReportCard(app: app, device: device, report: report, now: Sample.now)).get()
    }

    static func put(_ store: SQLStore, _ activity: String, step: Int, phones: [Int]) async throws {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = phones.map { Sample.user("u\($0)") }
        body.start = .appOnly
        _ = try await store.commit(
            SetDesiredState(
                app: app.bundleID, id: Sample.activityID(activity), type: Sample.type(), body: body, now: Sample.now)
        ).get()
    }

    /// Adds many cards in one commit, each with a token and its owner.
    static func putMany(_ store: SQLStore, _ count: Int) async throws {
        _ = try await store.commit(
            PutRows { draft in
                for number in 1...count {
                    let device = DeviceKey(number)
                    draft.put(Sample.deviceRecord(device))
                    let token = Sample.updateToken(1, device)
                    draft.put(token)
                    draft.put(
                        TokenOwnerRecord(
                            app: Sample.bundleID, value: token.value, kind: .update, device: device, activity: 1,
                            firstSeenAt: Sample.now))
                }
            }
        ).get()
    }
}
