import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// Backend of the apps: its requests, their effects, and its calls without an answer.
struct Backend {
    struct Call {
        enum What {
            case put(SetDesiredState.Body, step: Int, sequence: Int64?)
            case end(step: Int?, sequence: Int64?)
            case audience(add: [String], remove: [String])
            case replaceAudience([String])
            case notify(String, NotificationRecord.Kind, UInt64)
        }

        var number: Int
        var subject: Scenery.Subject
        var what: What
        var hasKey: Bool
        var words: String
    }

    /// Effect of a call on an activity.
    struct Stand {
        var run: Int
        var revision: Revision
        var changed: Bool
        var isReplayed: Bool
        var isSuperseded = false
        /// The process died before all of the call was done. A repeated call runs again.
        var isPartial = false
    }

    enum Event {
        /// A call's change of an activity is in a transaction, which may also claim the work that the change makes due.
        case commits(Call, Stand)
        /// A call's change of an activity was committed.
        case stands(Call, Stand)
        case notified(Call, devices: Int, isReplayed: Bool)
        /// The backend has received its answer and may rely on it from now on.
        case answered(Call, Stand)
    }

    /// State that results from all committed calls.
    struct Wish {
        var run = 0
        var revision: Revision = 0
        var step = 0
        var isEnded = false
        var people: Set<String> = []
    }

    var made = 0
    var steps: [Scenery.Subject: Int] = [:]
    var sequences: [Scenery.Subject: Int64] = [:]
    /// Ids of the alerts that calls have named.
    var alerts: [Scenery.Subject: [String]] = [:]
    /// Calls without an answer. Some are repeated.
    var open: [Call] = []
    var wishes: [Scenery.Subject: Wish] = [:]
}

extension World {
    /// Makes a call once.
    func attempt(_ call: Backend.Call) {
        note("backend", call.words)
        let hash = Array("key \(call.number)".utf8)
        let app = scenery.app(call.subject.app)
        switch call.what {
        case .put(let body, _, let sequence):
            var command = SetDesiredState(
                app: app.bundleID, id: Sample.activityID(call.subject.id), type: scenery.type(of: call.subject),
                body: body, now: serverTime)
            command.preconditions.sequence = sequence
            run(command, call, hash) { reply, isReplayed in
                Backend.Stand(
                    run: reply.run, revision: reply.revision, changed: reply.changed, isReplayed: isReplayed,
                    isSuperseded: reply.isSuperseded)
            }
        case .end(let step, let sequence):
            var command = EndActivity(
                app: app, id: Sample.activityID(call.subject.id), state: step.map(Scenery.state), alert: nil,
                dismissal: .systemDefault, now: serverTime)
            command.preconditions.sequence = sequence
            run(command, call, hash) { reply, isReplayed in
                Backend.Stand(
                    run: reply.run, revision: reply.revision, changed: reply.changed, isReplayed: isReplayed,
                    isSuperseded: reply.isSuperseded)
            }
        case .audience(let add, let remove):
            change(.change(add: add.map(Sample.user), remove: remove.map(Sample.user)), call, hash)
        case .replaceAudience(let people): change(.replace(people.map(Sample.user)), call, hash)
        case .notify(let user, let kind, let random): notify(user, kind, random, call, hash)
        }
    }

    private func change(_ change: ChangeAudience.Change, _ call: Backend.Call, _ hash: [UInt8]) {
        let command = ChangeAudience(
            app: call.subject.app, id: Sample.activityID(call.subject.id), change: change, now: serverTime)
        run(command, call, hash, { self.sweep($0, call, hash) }) { reply, isReplayed in
            Backend.Stand(run: 0, revision: reply.revision, changed: false, isReplayed: isReplayed)
        }
    }

    /// Removes the people that a replacement leaves out and one commit cannot take, as the server does before it
    /// answers.
    ///
    /// - Returns: `true` if all were removed. With an idempotency key, the last step's reply is stored.
    private func sweep(_ first: ChangeAudience.Reply, _ call: Backend.Call, _ hash: [UInt8]) -> Bool {
        var reply = first
        while let sweep = reply.sweep {
            guard let node = nodes.first(where: \.isUp) else { return false }
            let command = SweepAudience(
                app: call.subject.app, id: Sample.activityID(call.subject.id), reply: reply, sweep: sweep,
                now: serverTime)
            if call.hasKey {
                let wrapped = Idempotent(
                    command, app: call.subject.app, at: .init(hash: hash), digest: hash, now: serverTime)
                guard case .success(let next) = commit(wrapped, by: node) else { return false }
                reply = next.reply
            } else {
                guard case .success(let next) = commit(command, by: node) else { return false }
                reply = next
            }
        }
        return true
    }

    private func notify(
        _ user: String, _ kind: NotificationRecord.Kind, _ random: UInt64, _ call: Backend.Call, _ hash: [UInt8]
    ) {
        let payload = kind == .alert ? (try? AlertPayload(Sample.alert).bytes) ?? [] : BackgroundPayload().bytes
        let command = NotifyUser(
            app: call.subject.app, user: Sample.user(user), body: .init(kind, payload: payload), now: serverTime,
            random: random)
        let wrapped = Idempotent(command, app: call.subject.app, at: .init(hash: hash), digest: hash, now: serverTime)
        let answer = self.call(wrapped) { reply in
            note("backend", "  stands for \(reply.reply.devices) devices\(reply.isReplayed ? " (again)" : "")")
            see(.called(.notified(call, devices: reply.reply.devices, isReplayed: reply.isReplayed)))
        }
        if case .lost = answer { remember(call) }
    }

    private func run<C: Command>(
        _ command: C, _ call: Backend.Call, _ hash: [UInt8],
        _ follow: (C.Reply) -> Bool = { _ in true }, _ read: (C.Reply, Bool) -> Backend.Stand
    ) where C.Reply: IdempotentReply {
        if call.hasKey {
            let wrapped = Idempotent(
                command, app: call.subject.app, at: .init(hash: hash), digest: hash, now: serverTime)
            let answer = self.call(
                wrapped, commits: { see(.called(.commits(call, read($0.reply, $0.isReplayed)))) }
            ) { reply in
                var stand = read(reply.reply, reply.isReplayed)
                stand.isPartial = !follow(reply.reply)
                stands(call, stand)
            }
            finish(call, answer) { read($0.reply, $0.isReplayed) }
        } else {
            let answer = self.call(command, commits: { see(.called(.commits(call, read($0, false)))) }) { reply in
                var stand = read(reply, false)
                stand.isPartial = !follow(reply)
                stands(call, stand)
            }
            finish(call, answer) { read($0, false) }
        }
    }

    private func finish<Reply>(_ call: Backend.Call, _ answer: Answer<Reply>, _ read: (Reply) -> Backend.Stand) {
        switch answer {
        case .answered(.success(let reply)):
            see(.called(.answered(call, read(reply))))
        case .answered(.failure(let refusal)): note("backend", "  refused: \(refusal)")
        case .lost: remember(call)
        }
    }

    private func remember(_ call: Backend.Call) {
        note("backend", "  no answer")
        backend.open.append(call)
    }

    private func stands(_ call: Backend.Call, _ stand: Backend.Stand) {
        note("backend", "  stands: r\(stand.revision)\(stand.isReplayed ? " (again)" : "")")
        see(.called(.stands(call, stand)))
        guard !stand.isReplayed, !stand.isSuperseded else { return }
        var wish = backend.wishes[call.subject] ?? Backend.Wish()
        switch call.what {
        case .put(let body, let step, _):
            wish.step = step
            wish.isEnded = false
            wish.run = stand.run
            if let users = body.users { wish.people = Set(users.map(\.text)) }
        case .end(let step, _):
            wish.step = step ?? wish.step
            wish.isEnded = true
        case .audience(let add, let remove):
            // People of a crowd have no phone.
            let add = Scenery.people.filter(add.contains)
            if !wish.people.isSuperset(of: add) { count(.joined) }
            if !wish.people.isDisjoint(with: remove) { count(.left) }
            wish.people.formUnion(add)
            wish.people.subtract(remove)
        case .replaceAudience(let people): wish.people = Set(people)
        case .notify: break
        }
        wish.revision = max(wish.revision, stand.revision)
        backend.wishes[call.subject] = wish
    }

    // MARK: - Committed state

    func number(of subject: Scenery.Subject) -> ActivityNumber? {
        store.rows.activityNumbers[.init(subject.app, Sample.activityID(subject.id))]
    }

    func activity(_ subject: Scenery.Subject) -> ActivityRecord? {
        number(of: subject).flatMap { store.rows.activities[$0] }
    }

    func instance(of subject: Scenery.Subject, on phone: Phone) -> (activity: ActivityRecord, instance: CardMachine)? {
        guard let activity = activity(subject),
            let instance = store.rows.cards[.init(activity.number, phone.key)]
        else { return nil }
        return (activity, instance)
    }

    /// Returns the step number in an activity's content state.
    func step(of subject: Scenery.Subject) -> Int {
        guard let number = number(of: subject), let content = store.rows.contents[number] else { return 0 }
        return Scenery.step(of: (try? JSONValue(parsing: content.state.bytes))?.object) ?? 0
    }
}
