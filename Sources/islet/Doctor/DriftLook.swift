import APNSModel
import EmbeddedIslet
import JSONText
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite

/// A check that running activities fit the configured contracts, because a new contract does not change states that
/// were set before it.
enum DriftLook {
    /// Maximum number of activities per type, newest first.
    static let most = 200
    /// Maximum number of pages to search for one type's activities, among all running activities of the app: 200,000
    /// activities.
    static let mostPages = 20

    /// Returns the facts of each type with a contract, or `nil` if the database cannot be opened.
    static func facts(
        _ settings: Settings, _ look: DoctorFacts.DatabaseFacts.Look
    ) async -> [DoctorFacts.ContractFacts]? {
        let types = settings.apps.flatMap { app in
            app.types.values.sorted { $0.name < $1.name }.compactMap { type in
                type.contract.map { (app: app.bundleID, name: type.name, contract: $0) }
            }
        }
        // A database of another version must first be opened by the server.
        guard !types.isEmpty else { return [] }
        switch look {
        case .file(let look):
            guard look.exists, look.schema == .current else { return [] }
            if case .damaged = look.integrity { return nil }
            guard look.problem == nil, look.folderIsWritable else { return nil }
        case .server(let look):
            guard look.problem == nil else { return nil }
        }
        guard let store = try? settings.database.open(for: .administration) else { return nil }
        defer { store.close() }
        var facts: [DoctorFacts.ContractFacts] = []
        for type in types {
            do throws(StorageError) {
                facts.append(try await fact(store, type.app, type.name, type.contract))
            } catch {
                return nil
            }
        }
        return facts
    }

    private static func fact(
        _ store: SQLStore, _ app: BundleID, _ type: String, _ contract: Contract
    ) async throws(StorageError) -> DoctorFacts.ContractFacts {
        var filter = ActivityFilter(limit: most)
        (filter.type, filter.phase, filter.isNewestFirst) = (type, .active, true)
        var facts = DoctorFacts.ContractFacts(app: app, type: type)
        var rows: [ActivityPage.Row] = []
        for _ in 0..<mostPages {
            let page = try await store.activities(of: app, filter)
            rows += page.rows.prefix(most - rows.count)
            filter.after = page.next
            // A page may have few rows of this type if most running activities are of other types.
            guard rows.count < most, filter.after != nil else { break }
        }
        facts.isCut = rows.count < most && filter.after != nil
        for row in rows {
            guard let content = try await store.activity(app, row.record.id)?.content else { continue }
            facts.looked += 1
            let obstacles = contract.obstacles(state: object(content.state), attributes: object(content.attributes))
            guard let first = obstacles.first else { continue }
            facts.unfit += 1
            guard facts.example == nil else { continue }
            // The example leaves out the value, because the value is what people are shown.
            let place = first.pointer == .root ? "" : "\(first.pointer): "
            facts.example = "`\(row.record.id)`: \(place)\(first.expected) expected"
        }
        return facts
    }

    private static func object(_ encoded: EncodedObject) -> JSONObject {
        (try? JSONValue(parsing: encoded.bytes))?.object ?? [:]
    }
}
