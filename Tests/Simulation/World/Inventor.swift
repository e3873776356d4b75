import APNSModel
import LiveActivityCore
import TestSupport

/// A signed-in person who names unknown activities on their own authority and signs out, again and again.
enum Inventor {
    static let device = "inventor-1"
    static let user = "eve"
    /// Number of new activities that a device may name in a day (`docs/api/authentication.md`).
    static let perDay = 20
    static let activities = "invented-"
    /// Number of activities named at a time.
    fileprivate static let many = 25
}

extension World {
    func invent() {
        count(.invented)
        note("inventor", "names \(Inventor.many) activities that nobody knows, and signs out")
        let (app, device, user) = (
            scenery.app(Scenery.pizza), Sample.device(Inventor.device), Sample.user(Inventor.user)
        )
        var arrival = RegisterDevice(
            app: app, id: device, body: .init(user: user), now: serverTime, freshKey: Phone.key(Inventor.device))
        arrival.reporter = .person(user)
        _ = call(arrival)
        for _ in 0..<Inventor.many {
            guard let type = app.types["order"] else { return }
            invented += 1
            var report = CardReport(localID: Sample.local("card-\(invented)"), type: type, state: .active)
            report.activity = Sample.activityID(Inventor.activities + String(invented))
            var command = ReportCard(app: app, device: device, report: report, now: serverTime)
            command.reporter = .person(user)
            _ = call(command)
        }
        var departure = SignOutDevice(app: app.bundleID, id: device, now: serverTime)
        departure.reporter = .person(user)
        _ = call(departure)
    }
}
