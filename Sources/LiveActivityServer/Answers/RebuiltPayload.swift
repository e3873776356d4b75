import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityStorage

/// Payloads of past pushes, rebuilt from the timeline. The server stores no payload, neither before nor after sending
/// it.
///
/// The state and the alert are those of the revision, and the timestamp is the push's own. Stale date and dismissal are
/// computed from the policy. They may differ from what was sent if they were renewed, or if the call set them.
struct RebuiltPayloads {
    private let type: ActivityType?
    private let attributes: EncodedObject
    private var changes: [Revision: (at: UnixTime, content: ChangeContent)] = [:]

    /// - Parameter entries: The entries with the changes. A push whose change is missing has no payload.
    init(_ state: ActivityState, _ entries: some Sequence<HistoryEntry>, type: ActivityType?) {
        self.type = type
        attributes = state.content?.attributes ?? .empty
        for entry in entries where entry.device == nil {
            if let content = ChangeContent(entry) { changes[entry.revision] = (entry.at, content) }
        }
    }

    func payload(of entry: HistoryEntry) -> [UInt8]? {
        guard entry.timestamp > 0, let (at, change) = changes[entry.revision] else { return nil }
        let time = UnixTime(seconds: entry.timestamp)
        let content = EncodedObject(change.state)
        let alert = entry.carriesAlert ? change.alert : nil
        let stale = (change.staleAt ?? (change.staleAfter ?? type?.policy.staleAfter).map { at + $0 })
            .flatMap { $0 > time ? $0 : nil }
        let relevance = change.relevance.flatMap { try? RelevanceScore($0) }
        switch entry.kind {
        case .start:
            let own = type?.policy.startAlert?
                .filled(state: change.state, attributes: attributes.object ?? [:]).alert
            guard let type, let alert = alert ?? own else { return nil }
            return try? StartPayload(
                timestamp: time, attributesType: type.attributesType, attributes: attributes, contentState: content,
                alert: alert, staleDate: stale ?? time + type.policy.startStaleAfter, relevance: relevance
            ).bytes
        case .update:
            return try? UpdatePayload(
                timestamp: time, contentState: content, alert: alert, staleDate: stale, relevance: relevance
            ).bytes
        case .end:
            let dismissal: Dismissal = type?.policy.dismissAfter.map { .at(at + $0) } ?? .systemDefault
            return try? EndPayload(
                timestamp: time, contentState: content, dismissal: dismissal, alert: alert, relevance: relevance
            ).bytes
        default: return nil
        }
    }
}
