import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls about diagnoses.
enum DiagnosisCalls {
    /// `GET /v1/devices/{device}/diagnosis`: returns what keeps the desired states from this phone's lock screen.
    ///
    /// `?activity=` limits it to one activity. An unknown device or activity is a finding, not an error, because it
    /// answers the question.
    @Sendable static func device(_ call: Call) async throws(Problem) -> Answer {
        let device: DeviceID = try call.id("device")
        let activity: ActivityID?
        do throws(ForeignIDError) {
            activity = try call.query["activity"].map { text throws(ForeignIDError) in try ActivityID(text) }
        } catch {
            throw Problem(.invalidQuery, "`activity`: \(error)", expected: "1 to 256 bytes without control characters")
        }
        let facts = try await facts(of: device, activity, in: call)
        let findings = facts.map(DeviceDiagnosis.findings) ?? DeviceDiagnosis.unknown(device)
        return try Answer(
            DiagnosisAnswer(
                device: device.text, user: facts?.device.userID.text, at: Instant(call.now),
                verdict: .init(findings.worst), findings: findings.map(DiagnosisAnswer.Finding.init)))
    }

    private static func facts(
        of device: DeviceID, _ activity: ActivityID?, in call: Call
    ) async throws(Problem) -> DiagnosisFacts? {
        let (store, app) = (call.services.store, call.app.bundleID)
        func snapshot(_ keys: [SnapshotKey]) async throws(Problem) -> Snapshot {
            try await call.ask { () async throws(StorageError) in try await store.snapshot(of: keys) }
        }
        let first = try await snapshot(DiagnosisFacts.keys(of: device, activity, in: app))
        let keys = DiagnosisFacts.moreKeys(of: device, activity, in: app, first)
        guard !keys.isEmpty else { return nil }
        let whole = try await snapshot(keys)
        guard var facts = DiagnosisFacts(whole, of: device, activity, app: call.app, now: call.now) else { return nil }
        facts.routes = call.services.delivery.routes()
        facts.clockSkew = Dictionary(
            call.services.delivery.connections().compactMap { reading in
                reading.clockSkew.map { (reading.environment, $0) }
            }, uniquingKeysWith: { first, _ in first })
        for index in facts.cards.indices {
            let number = facts.cards[index].activity.number
            let rows = try await call.ask { () async throws(StorageError) in
                try await store.latestHistory(of: number, limit: DiagnosisFacts.historyRows)
            }
            let entries = rows.flatMap { $0.entries.reversed() }.filter { $0.device == facts.device.key }
            facts.cards[index].history = entries
        }
        return facts
    }
}

extension DiagnosisAnswer.Severity {
    init(_ severity: DiagnosisFinding.Severity) {
        self =
            switch severity {
            case .note: .note
            case .warning: .warning
            case .waiting: .waiting
            case .blocked: .blocked
            }
    }
}

extension DiagnosisAnswer.Finding {
    init(_ finding: DiagnosisFinding) {
        self.init(
            id: finding.id, severity: .init(finding.severity), activity: finding.activity?.text, text: finding.text,
            fix: finding.fix, evidence: finding.evidence)
    }
}
