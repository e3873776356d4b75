import LiveActivityAPI
import LiveActivityCore

extension AudienceRequest {
    func command(of activity: ActivityID, in call: Call) throws(Problem) -> ChangeAudience {
        ChangeAudience(app: call.app.bundleID, id: activity, change: try change, now: call.now)
    }

    private var change: ChangeAudience.Change {
        get throws(Problem) {
            switch replace {
            case .users(let texts):
                try Self.checkSize(texts.count, at: "/replace")
                return .replace(try Self.users(texts, at: "/replace"))
            case .page(let page):
                try Self.checkSize(page.users.count, at: "/replace/users")
                guard let session = try Fields.text(page.session, at: "/replace/session", maximum: 256) else {
                    throw .invalid("/replace/session", "missing")
                }
                return .page(
                    session: session, users: try Self.users(page.users, at: "/replace/users"),
                    isLast: page.last ?? false)
            case nil:
                let (joining, leaving) = (add ?? [], remove ?? [])
                try Self.checkSize(
                    joining.count + leaving.count, at: joining.count > leaving.count ? "/add" : "/remove")
                let both = Set(joining).intersection(leaving)
                if let index = leaving.firstIndex(where: both.contains) {
                    throw .invalid("/remove/\(index)", "to be added too", expected: "each user in one of the two")
                }
                return .change(
                    add: try Self.users(joining, at: "/add"), remove: try Self.users(leaving, at: "/remove"))
            }
        }
    }

    private static func checkSize(_ count: Int, at pointer: String) throws(Problem) {
        guard count > ChangeAudience.maximumUsers else { return }
        var problem = Problem(Refusal.audienceTooLarge(limit: ChangeAudience.maximumUsers))
        problem.pointer = pointer
        throw problem
    }

    private static func users(_ texts: [String], at pointer: String) throws(Problem) -> [UserID] {
        var users: [UserID] = []
        for (index, text) in texts.enumerated() { users.append(try Fields.id(text, at: "\(pointer)/\(index)")) }
        return users
    }
}
