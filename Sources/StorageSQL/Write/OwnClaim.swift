import LiveActivityCore

/// The claim that a group of commands makes of the work which it makes due, inside its transaction.
///
/// Only the writer's thread uses it.
final class OwnClaim {
    private let source: ClaimAtOnce.Source?
    private var open: ClaimAtOnce?
    /// `nil` if nothing is claimed.
    private(set) var reply: ClaimWork.Reply?
    var isCommitted = false

    init(source: ClaimAtOnce.Source?) {
        self.source = source
    }

    /// `true` if rows were read or changed for the claim.
    private(set) var isBegun = false

    /// Claims what the draft has made due.
    func claim(in draft: inout Draft, _ sql: Statements) throws {
        guard draft.mayMakeLanesDue, open == nil, let open = source?() else { return }
        self.open = open
        guard var work = draft.workAtOnce(for: open.claim) else { return }
        isBegun = true
        for case .due(let due) in open.claim.keys { try DueLoader.loadPages(of: &work, due, sql) }
        reply = draft.claim(work, by: open.claim)?.reply
    }

    /// Passes on what was claimed. Call it once, after the transaction.
    func end() { open?.end(isCommitted ? reply : nil) }
}
